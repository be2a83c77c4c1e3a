package spirv

// Magic is the first word of a module.
const Magic = 0x07230203

// Instructions.
const (
	OpNop                   = 0
	OpUndef                 = 1
	OpName                  = 5
	OpMemberName            = 6
	OpLine                  = 8
	OpExtension             = 10
	OpExtInstImport         = 11
	OpExtInst               = 12
	OpMemoryModel           = 14
	OpEntryPoint            = 15
	OpExecutionMode         = 16
	OpCapability            = 17
	OpTypeVoid              = 19
	OpTypeBool              = 20
	OpTypeInt               = 21
	OpTypeFloat             = 22
	OpTypeVector            = 23
	OpTypeMatrix            = 24
	OpTypeArray             = 28
	OpTypeRuntimeArray      = 29
	OpTypeStruct            = 30
	OpTypePointer           = 32
	OpTypeFunction          = 33
	OpTypeForwardPointer    = 39
	OpConstantTrue          = 41
	OpConstantFalse         = 42
	OpConstant              = 43
	OpConstantComposite     = 44
	OpConstantNull          = 46
	OpSpecConstant          = 50
	OpSpecConstantComposite = 51
	OpSpecConstantOp        = 52
	OpFunction              = 54
	OpFunctionParameter     = 55
	OpFunctionEnd           = 56
	OpFunctionCall          = 57
	OpVariable              = 59
	OpLoad                  = 61
	OpStore                 = 62
	OpAccessChain           = 65
	OpInBoundsAccessChain   = 66
	OpPtrAccessChain        = 67
	OpInBoundsPtrAccess     = 70
	OpDecorate              = 71
	OpMemberDecorate        = 72
	OpGroupDecorate         = 74
	OpCompositeConstruct    = 80
	OpCompositeExtract      = 81
	OpCopyObject            = 83
	OpConvertFToU           = 109
	OpConvertFToS           = 110
	OpConvertSToF           = 111
	OpConvertUToF           = 112
	OpUConvert              = 113
	OpSConvert              = 114
	OpFConvert              = 115
	OpBitcast               = 124
	OpSNegate               = 126
	OpFNegate               = 127
	OpIAdd                  = 128
	OpFAdd                  = 129
	OpISub                  = 130
	OpFSub                  = 131
	OpIMul                  = 132
	OpFMul                  = 133
	OpUDiv                  = 134
	OpSDiv                  = 135
	OpFDiv                  = 136
	OpUMod                  = 137
	OpUMulExtended          = 151
	OpLogicalEqual          = 164
	OpLogicalNotEqual       = 165
	OpLogicalOr             = 166
	OpLogicalAnd            = 167
	OpLogicalNot            = 168
	OpSelect                = 169
	OpIEqual                = 170
	OpINotEqual             = 171
	OpUGreaterThan          = 172
	OpSGreaterThan          = 173
	OpUGreaterThanEqual     = 174
	OpSGreaterThanEqual     = 175
	OpULessThan             = 176
	OpSLessThan             = 177
	OpULessThanEqual        = 178
	OpSLessThanEqual        = 179
	OpFOrdEqual             = 180
	OpFUnordNotEqual        = 183
	OpFOrdLessThan          = 184
	OpFOrdGreaterThan       = 186
	OpFOrdLessThanEqual     = 188
	OpFOrdGreaterThanEqual  = 190
	OpShiftRightLogical     = 194
	OpShiftRightArithmetic  = 195
	OpShiftLeftLogical      = 196
	OpBitwiseOr             = 197
	OpBitwiseXor            = 198
	OpBitwiseAnd            = 199
	OpNot                   = 200
	OpBitCount              = 205
	OpControlBarrier        = 224
	OpMemoryBarrier         = 225
	OpAtomicCompareExchange = 230
	OpAtomicAnd             = 240
	OpAtomicOr              = 241
	OpPhi                   = 245
	OpLoopMerge             = 246
	OpSelectionMerge        = 247
	OpLabel                 = 248
	OpBranch                = 249
	OpBranchConditional     = 250
	OpReturn                = 253
	OpReturnValue           = 254
	OpUnreachable           = 255
	OpNoLine                = 317
	OpModuleProcessed       = 330
	OpExecutionModeID       = 331

	OpGroupNonUniformShuffle     = 345
	OpGroupNonUniformShuffleXor  = 346
	OpGroupNonUniformShuffleDown = 348

	OpTerminateInvocation        = 4416
	OpTypeCooperativeMatrixKHR   = 4456
	OpCooperativeMatrixLoadKHR   = 4457
	OpCooperativeMatrixStoreKHR  = 4458
	OpCooperativeMatrixMulAddKHR = 4459

	OpAtomicFMin = 5614
	OpAtomicFMax = 5615
	OpAtomicFAdd = 6035
)

// Execution modes.
const (
	ModeLocalSize       = 17
	ModeLocalSizeID     = 38
	ModeDenormPreserve  = 4459
	ModeRoundingModeRTZ = 4463
)

// Decorations.
const (
	DecorationBlock         = 2
	DecorationBufferBlock   = 3
	DecorationArrayStride   = 6
	DecorationMatrixStride  = 7
	DecorationBuiltIn       = 11
	DecorationRestrict      = 19
	DecorationAliased       = 20
	DecorationNonWritable   = 24
	DecorationBinding       = 33
	DecorationDescriptorSet = 34
	DecorationOffset        = 35
	DecorationNoContraction = 42
)

// Built-in variables.
const (
	BuiltInWorkgroupSize             = 25
	BuiltInWorkgroupID               = 26
	BuiltInLocalInvocationID         = 27
	BuiltInLocalInvocationIndex      = 29
	BuiltInSubgroupSize              = 36
	BuiltInSubgroupID                = 40
	BuiltInSubgroupLocalInvocationID = 41
)

// Storage classes.
const (
	ClassUniformConstant       = 0
	ClassInput                 = 1
	ClassUniform               = 2
	ClassWorkgroup             = 4
	ClassFunction              = 7
	ClassPushConstant          = 9
	ClassStorageBuffer         = 12
	ClassPhysicalStorageBuffer = 5349
)

// Scopes of barriers and subgroup operations.
const (
	ScopeDevice      = 1
	ScopeWorkgroup   = 2
	ScopeSubgroup    = 3
	ScopeQueueFamily = 5
)

// Bits of memory semantics.
const (
	SemanticsAcquireRelease  = 0x8
	SemanticsUniformMemory   = 0x40
	SemanticsWorkgroupMemory = 0x100
	SemanticsMakeAvailable   = 0x2000
	SemanticsMakeVisible     = 0x4000
)

// Functions of the extended instruction set GLSL.std.450.
const (
	GLSLRound       = 1
	GLSLRoundEven   = 2
	GLSLTrunc       = 3
	GLSLFAbs        = 4
	GLSLFloor       = 8
	GLSLCeil        = 9
	GLSLSin         = 13
	GLSLCos         = 14
	GLSLTan         = 15
	GLSLAsin        = 16
	GLSLAcos        = 17
	GLSLAtan        = 18
	GLSLSinh        = 19
	GLSLCosh        = 20
	GLSLTanh        = 21
	GLSLAsinh       = 22
	GLSLAcosh       = 23
	GLSLAtanh       = 24
	GLSLAtan2       = 25
	GLSLPow         = 26
	GLSLExp         = 27
	GLSLLog         = 28
	GLSLExp2        = 29
	GLSLLog2        = 30
	GLSLSqrt        = 31
	GLSLInverseSqrt = 32
	GLSLFma         = 50
	GLSLLdexp       = 53
	GLSLUnpackHalf  = 62
	GLSLFindUMsb    = 75
)
