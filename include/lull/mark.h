/* SPDX-License-Identifier: MIT */
/**
 * @file
 * Marks: a program says that something of a name begins, and that it ends, and `lull track 'mark(NAME) > TIME'` reports what
 * took longer.
 *
 *     lull_mark_begin("checkout", order_id);
 *     …
 *     lull_mark_end("checkout", order_id);
 *
 * This header is all that a program needs: it links with nothing. While nobody watches, a mark is a load of each text's first
 * byte and one instruction that does nothing.
 *
 * A mark is a probe `lull:begin` or `lull:end` as SystemTap's USDT has them (a note in the section .note.stapsdt), with two
 * arguments: the addresses of two texts. Any other way to make such probes does as well.
 *
 * The name is up to 31 letters, digits and - _ . long, the cookie up to 255 bytes; both end with a NUL. What is longer is not
 * seen. The cookie says which of several of that name begins or ends, on the whole machine: it may begin in one thread or
 * process and end in another. One that begins again before it ends starts anew.
 */
#ifndef LULL_MARK_H
#define LULL_MARK_H

#if defined(__linux__) && defined(__ELF__) && defined(__LP64__) &&                                 \
    (defined(__x86_64__) || defined(__aarch64__))

/** @internal One probe: an instruction to stop at, and the note that says where it is and in which registers the texts are. */
#define LULL_MARK_PROBE(probe, name, cookie)                                                       \
    __asm__ volatile("771:\n\tnop\n"                                                               \
                     "\t.pushsection .note.stapsdt,\"\",%%note\n"                                  \
                     "\t.balign 4\n"                                                               \
                     "\t.4byte 773f-772f, 775f-774f, 3\n"                                          \
                     "772:\t.asciz \"stapsdt\"\n"                                                  \
                     "773:\t.balign 4\n"                                                           \
                     "774:\t.8byte 771b, _.stapsdt.base, 0\n"                                      \
                     "\t.asciz \"lull\"\n"                                                         \
                     "\t.asciz \"" probe "\"\n"                                                    \
                     "\t.ascii \"8@%0\", \" 8@%1\"\n\t.byte 0\n"                                   \
                     "775:\t.balign 4\n"                                                           \
                     "\t.popsection\n"                                                             \
                     "\t.ifndef _.stapsdt.base\n"                                                  \
                     "\t.pushsection .stapsdt.base,\"aG\",%%progbits,.stapsdt.base,comdat\n"       \
                     "\t.weak _.stapsdt.base\n"                                                    \
                     "\t.hidden _.stapsdt.base\n"                                                  \
                     "_.stapsdt.base:\t.space 1\n"                                                 \
                     "\t.size _.stapsdt.base, 1\n"                                                 \
                     "\t.popsection\n"                                                             \
                     "\t.endif\n"                                                                  \
                     :                                                                             \
                     : "r"(name), "r"(cookie)                                                      \
                     : "memory")

/* Who reads the texts in the kernel cannot wait for a page of them. */
static inline void lull_mark_touch(const char *text)
{
    (void)*(const volatile char *)text;
}

/** Something of this name, which the cookie tells from others, begins now. */
static inline __attribute__((always_inline)) void lull_mark_begin(const char *name,
                                                                  const char *cookie)
{
    lull_mark_touch(name);
    lull_mark_touch(cookie);
    LULL_MARK_PROBE("begin", name, cookie);
}

/** It ends now. */
static inline __attribute__((always_inline)) void lull_mark_end(const char *name,
                                                                const char *cookie)
{
    lull_mark_touch(name);
    lull_mark_touch(cookie);
    LULL_MARK_PROBE("end", name, cookie);
}

#else

/* Elsewhere marks do nothing. */
static inline void lull_mark_begin(const char *name, const char *cookie)
{
    (void)name;
    (void)cookie;
}

static inline void lull_mark_end(const char *name, const char *cookie)
{
    (void)name;
    (void)cookie;
}

#endif
#endif
