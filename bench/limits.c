/* What this machine can do at best: passes over memory, fused multiply-adds. Compiled on the fly
 * for the CPU at hand; nothing of it is part of the package. */
#include <stddef.h>
#include <stdint.h>

typedef int64_t line __attribute__((vector_size(64)));
typedef double reals __attribute__((vector_size(64)));

volatile int64_t limits_sink;

static int64_t folded(line a)
{
    int64_t sum = 0;
    for (int k = 0; k < 8; k++)
        sum += a[k];
    return sum;
}

/* One stream, eight lines at a time: loads are all there is to wait for. */
static __attribute__((noinline)) line read_stream(const line *a, size_t lines)
{
    line s[8] = {{0}};
    size_t i = 0;
    for (; i + 8 <= lines; i += 8)
        for (int k = 0; k < 8; k++)
            s[k] |= a[i + k];
    for (; i < lines; i++)
        s[0] |= a[i];
    return ((s[0] | s[1]) | (s[2] | s[3])) | ((s[4] | s[5]) | (s[6] | s[7]));
}

/* The same, memory asked for 2 KB ahead. */
static __attribute__((noinline)) line read_ahead(const line *a, size_t lines)
{
    line s[4] = {{0}};
    size_t i = 0;
    for (; i + 4 <= lines; i += 4)
        for (int k = 0; k < 4; k++) {
            __builtin_prefetch((const char *)(a + i + k) + 2048);
            s[k] |= a[i + k];
        }
    for (; i < lines; i++)
        s[0] |= a[i];
    return (s[0] | s[1]) | (s[2] | s[3]);
}

/* Four streams side by side: more pages open at once. */
static __attribute__((noinline)) line read_quarters(const line *a, size_t lines)
{
    line s[4] = {{0}};
    const size_t quarter = lines / 4;
    for (size_t i = 0; i < quarter; i++)
        for (int k = 0; k < 4; k++)
            s[k] |= a[(size_t)k * quarter + i];
    for (size_t i = 4 * quarter; i < lines; i++)
        s[0] |= a[i];
    return (s[0] | s[1]) | (s[2] | s[3]);
}

static __attribute__((noinline)) void scale(reals *a, size_t lines, double c)
{
    size_t i = 0;
    for (; i + 4 <= lines; i += 4)
        for (int k = 0; k < 4; k++)
            a[i + k] *= c;
    for (; i < lines; i++)
        a[i] *= c;
}

/* `rounds` rounds: `lines` lines of 64 bytes read, by turns from one of `parts` places in
 * sequence, then `changed` lines of another place (or the same) read and written back with the
 * other sign. All begins on a line; either number of lines may be zero. */
void limits_rounds(const line *source, size_t lines, size_t parts, int way, reals *target,
                   size_t changed, size_t rounds)
{
    line s = {0};
    for (size_t r = 0; r < rounds; r++) {
        const line *a = source + r % parts * lines;
        if (lines)
            s |= way == 0 ? read_stream(a, lines)
                 : way == 1 ? read_ahead(a, lines)
                            : read_quarters(a, lines);
        if (changed)
            scale(target, changed, -1.0);
        __asm__ volatile("" ::: "memory");
    }
    limits_sink = folded(s);
}

#if defined(__AVX512F__)
#define WIDTH 64
#elif defined(__AVX__)
#define WIDTH 32
#else
#define WIDTH 16
#endif
typedef double lanes __attribute__((vector_size(WIDTH)));

/* Twelve independent chains of x = x b + c; returns the floating-point operations done. */
double limits_fma(size_t rounds)
{
    enum { CHAINS = 12 };
    lanes x[CHAINS], b = {0}, c = {0}, sum = {0};
    b += 0.999999;
    c += 1e-3;
    for (int k = 0; k < CHAINS; k++)
        x[k] = c;
    for (size_t r = 0; r < rounds; r++)
        for (int k = 0; k < CHAINS; k++)
            x[k] = x[k] * b + c;
    for (int k = 0; k < CHAINS; k++)
        sum += x[k];
    limits_sink = (int64_t)sum[0];
    return 2.0 * CHAINS * (WIDTH / 8) * (double)rounds;
}

/* Rows of a sparse matrix: of each of its features `lines` lines are read, all asked for at once,
 * and the first `changed` of them written back. Features begin every `lines` lines. */
void limits_features(reals *base, size_t lines, size_t changed, const int32_t *features,
                     size_t entries, size_t first, size_t rows)
{
    reals sum = {0};
    for (size_t r = first; r < first + rows; r++) {
        const int32_t *f = features + r * entries;
        for (size_t e = 0; e < entries; e++)
            for (size_t k = 0; k < lines; k++)
                __builtin_prefetch(base + (size_t)f[e] * lines + k, 1);
        for (size_t e = 0; e < entries; e++)
            for (size_t k = 0; k < lines; k++)
                sum += base[(size_t)f[e] * lines + k];
        for (size_t e = 0; e < entries; e++)
            for (size_t k = 0; k < changed; k++)
                base[(size_t)f[e] * lines + k] *= -1.0;
    }
    limits_sink = (int64_t)sum[0];
}
