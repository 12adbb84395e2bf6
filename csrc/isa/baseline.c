/* Plain C for whatever CPU the compiler aims at. */
#define CF_ISA baseline
#include "unit.h"
