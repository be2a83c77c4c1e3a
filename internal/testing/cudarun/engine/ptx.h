// A parsed PTX text: instructions with their operands.
#pragma once

#include "engine.h"

namespace cudarun {

struct reference {
  enum { kOperand, kRegister, kNumber, kLane } kind;
  int index;                // of an operand or register
  unsigned long long value; // of a number, or added to an address
  bool memory;              // in brackets
};

constexpr int kMaxReferences = 32, kMaxGroups = 8, kMaxRegisters = 16;

struct state_of_ptx {
  operand *operands;
  unsigned long long registers[kMaxRegisters];
  int line;
};

struct instruction {
  char opcode[96];
  int guard; // the register of its predicate; -1 for none
  bool negated;
  void (*execute)(const instruction *, state_of_ptx *);
  reference all[kMaxReferences];
  int first[kMaxGroups], size[kMaxGroups], groups; // each operand, perhaps a list in braces

  bool has(const char *part) const; // whether the opcode contains .part
  unsigned long long get(const state_of_ptx *s, int group, int i = 0) const;
  void set(state_of_ptx *s, int group, unsigned long long bits, int i = 0) const;
};

void execute_mma(const instruction *, state_of_ptx *);
void execute_ldmatrix(const instruction *, state_of_ptx *);

} // namespace cudarun
