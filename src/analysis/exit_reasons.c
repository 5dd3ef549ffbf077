/* SPDX-License-Identifier: MIT */
/* Names of exit reasons: those of Intel's VMX and AMD's SVM as in the kernel's uapi headers, and the
 * exception classes of arm64. */
#include "analysis/exit_reasons.h"

#include <glib.h>

#include "kernel/facts.h"

/* VMX says in the upper half whether the entry failed, and the like. */
enum { VMX_BASIC = 0xffff };

struct reason {
    uint16_t first, last; /* of some that share a name */
    const char *name;
};

/* clang-format off */
static const struct reason vmx[] = {
    {0, 0, "exception or NMI"}, {1, 1, "external interrupt"}, {2, 2, "triple fault"},
    {3, 3, "INIT"}, {4, 4, "SIPI"}, {7, 7, "interrupt window"}, {8, 8, "NMI window"},
    {9, 9, "task switch"}, {10, 10, "CPUID"}, {12, 12, "HLT"}, {13, 13, "INVD"},
    {14, 14, "INVLPG"}, {15, 15, "RDPMC"}, {16, 16, "RDTSC"}, {18, 18, "VMCALL"},
    {19, 27, "nested VMX instruction"}, {28, 28, "control register"}, {29, 29, "debug register"},
    {30, 30, "I/O instruction"}, {31, 31, "MSR read"}, {32, 32, "MSR write"},
    {33, 33, "invalid guest state"}, {34, 34, "MSR load failure"}, {36, 36, "MWAIT"},
    {37, 37, "monitor trap"}, {39, 39, "MONITOR"}, {40, 40, "PAUSE"}, {41, 41, "machine check"},
    {43, 43, "TPR below threshold"}, {44, 44, "APIC access"}, {45, 45, "EOI"},
    {46, 47, "descriptor table"}, {48, 48, "EPT violation"}, {49, 49, "EPT misconfiguration"},
    {50, 50, "INVEPT"}, {51, 51, "RDTSCP"}, {52, 52, "preemption timer"}, {53, 53, "INVVPID"},
    {54, 54, "WBINVD"}, {55, 55, "XSETBV"}, {56, 56, "APIC write"}, {57, 57, "RDRAND"},
    {58, 58, "INVPCID"}, {59, 59, "VMFUNC"}, {60, 60, "ENCLS"}, {61, 61, "RDSEED"},
    {62, 62, "page log full"}, {63, 63, "XSAVES"}, {64, 64, "XRSTORS"}, {67, 67, "UMWAIT"},
    {68, 68, "TPAUSE"}, {74, 74, "bus lock"}, {75, 75, "notify"},
};

static const struct reason svm[] = {
    {0x00, 0x0f, "control register read"}, {0x10, 0x1f, "control register write"},
    {0x20, 0x2f, "debug register read"}, {0x30, 0x3f, "debug register write"},
    {0x40, 0x5f, "exception"}, {0x60, 0x60, "external interrupt"}, {0x61, 0x61, "NMI"},
    {0x62, 0x62, "SMI"}, {0x63, 0x63, "INIT"}, {0x64, 0x64, "interrupt window"},
    {0x65, 0x65, "CR0 write"}, {0x66, 0x6d, "descriptor table"}, {0x6e, 0x6e, "RDTSC"},
    {0x6f, 0x6f, "RDPMC"}, {0x70, 0x70, "PUSHF"}, {0x71, 0x71, "POPF"}, {0x72, 0x72, "CPUID"},
    {0x73, 0x73, "RSM"}, {0x74, 0x74, "IRET"}, {0x75, 0x75, "software interrupt"},
    {0x76, 0x76, "INVD"}, {0x77, 0x77, "PAUSE"}, {0x78, 0x78, "HLT"}, {0x79, 0x79, "INVLPG"},
    {0x7a, 0x7a, "INVLPGA"}, {0x7b, 0x7b, "I/O instruction"}, {0x7c, 0x7c, "MSR"},
    {0x7d, 0x7d, "task switch"}, {0x7e, 0x7e, "FERR freeze"}, {0x7f, 0x7f, "shutdown"},
    {0x80, 0x80, "VMRUN"}, {0x81, 0x81, "VMMCALL"}, {0x82, 0x86, "nested SVM instruction"},
    {0x87, 0x87, "RDTSCP"}, {0x88, 0x88, "ICEBP"}, {0x89, 0x89, "WBINVD"}, {0x8a, 0x8a, "MONITOR"},
    {0x8b, 0x8c, "MWAIT"}, {0x8d, 0x8d, "XSETBV"}, {0x8e, 0x8e, "RDPRU"}, {0x8f, 0x8f, "EFER write"},
    {0x90, 0x9f, "control register written"}, {0xa2, 0xa2, "INVPCID"}, {0xa5, 0xa5, "bus lock"},
    {0x400, 0x400, "nested page fault"}, {0x401, 0x401, "AVIC incomplete IPI"},
    {0x402, 0x402, "AVIC access"}, {0x403, 0x403, "VMGEXIT"},
};

static const struct reason arm[] = {
    {0x00, 0x00, "interrupt"}, {0x01, 0x01, "WFI or WFE"}, {0x07, 0x07, "SIMD or floating point"},
    {0x11, 0x12, "hypercall"}, {0x13, 0x13, "SMC"}, {0x15, 0x15, "system call"}, {0x16, 0x16, "hypercall"},
    {0x17, 0x17, "SMC"}, {0x18, 0x18, "system register"}, {0x19, 0x19, "SVE"},
    {0x20, 0x21, "instruction abort"}, {0x24, 0x25, "data abort"}, {0x2f, 0x2f, "system error"},
    {0x30, 0x31, "breakpoint"}, {0x32, 0x33, "single step"}, {0x34, 0x35, "watchpoint"},
    {0x3c, 0x3c, "BRK"},
};
/* clang-format on */

static const struct {
    const struct reason *items;
    size_t n;
} tables[] = {
    [LULL_ISA_VMX] = {vmx, G_N_ELEMENTS(vmx)},
    [LULL_ISA_SVM] = {svm, G_N_ELEMENTS(svm)},
    [LULL_ISA_ARM] = {arm, G_N_ELEMENTS(arm)},
};

uint32_t lull_exit_reason_plain(uint8_t isa, uint32_t reason)
{
    return isa == LULL_ISA_VMX ? reason & VMX_BASIC : reason;
}

const char *lull_exit_reason_name(uint8_t isa, uint32_t reason)
{
    if (isa >= G_N_ELEMENTS(tables)) {
        return NULL;
    }
    for (size_t i = 0; i < tables[isa].n; i++) {
        if (reason >= tables[isa].items[i].first && reason <= tables[isa].items[i].last) {
            return tables[isa].items[i].name;
        }
    }
    return NULL;
}
