/* Notes about the instructions of a library: include/tvmgo/cpu_note.h writes them. */
#pragma once

#include "loader/elf_check.h"

/* Refuses a file with instructions that this machine's CPU, or its system, does not have. Files without such notes
 * pass. */
int tvmgo_elf_check_cpu(const tvmgo_elf* elf);
