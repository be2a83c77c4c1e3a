package nvrtctest

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Two loops in a third one, and the jump of a kernel's end to itself.
const nested = `
f:
.text.f:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   MOV R2, RZ ;
.L_x_1:
        /*0020*/                   LDS.128 R4, [R2] ;
        /*0030*/               @P1 FFMA R0, R4, R5, R0 ;
        /*0040*/                   FFMA.FTZ R0, R6, R7, R0 ;
        /*0050*/              @!P0 BRA ` + "`(.L_x_1)" + ` ;
.L_x_2:
        /*0060*/                   IADD3 R2, R2, 0x1, RZ ;
        /*0070*/             @!UP0 BRA.U ` + "`(.L_x_2)" + ` ;
        /*0080*/              @!P0 BRA ` + "`(.L_x_0)" + ` ;
        /*0090*/               @P2 BRA ` + "`(.L_x_4)" + ` ;
.L_x_4:
        /*00a0*/                   EXIT ;
.L_x_3:
        /*00b0*/                   BRA ` + "`(.L_x_3)" + `;
`

func TestInnermostLoops(t *testing.T) {
	loops := InnermostLoops(nested)
	require.Equal(t, []Loop{{"LDS.128", "FFMA", "FFMA.FTZ", "BRA"}, {"IADD3", "BRA.U"}}, loops)
	require.Equal(t, 2, loops[0].Count("FFMA"))
	require.Equal(t, 1, loops[0].Count("LDS"))
}
