#include "log.h"

/* --- names ----------------------------------------------------------------------------------- */

static uint64_t load(const char *p, size_t size)
{
    uint64_t bits = 0;
    memcpy(&bits, p, size);
    return bits;
}

static uint64_t mix(uint64_t hash, uint64_t bits)
{
    hash = (hash ^ bits) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 29);
}

/* Of the table of names only: no result depends on it. */
static uint64_t hash_bytes(uint64_t hash, word w)
{
    const char *p = w.begin;
    ptrdiff_t n = w.length;
    hash = mix(hash, (uint64_t)n);
    for (; n >= 8; n -= 8, p += 8)
        hash = mix(hash, load(p, 8));
    uint64_t rest = 0; /* a copy of fixed size is one instruction, one of n bytes a call */
    if (n & 4)
        rest = load(p, 4);
    if (n & 2)
        rest = rest << 16 | load(p + (n & 4), 2);
    if (n & 1)
        rest = rest << 8 | (unsigned char)p[n - 1];
    return n > 0 ? mix(hash, rest) : hash;
}

static int same_bytes(const char *a, word b)
{
    ptrdiff_t i = 0;
    for (; b.length - i >= 8; i += 8)
        if (load(a + i, 8) != load(b.begin + i, 8))
            return 0;
    for (; i < b.length; i++)
        if (a[i] != b.begin[i])
            return 0;
    return 1;
}

static const word NOTHING = {"", 0};

/* The number of a name; a new one is added. `kind` is the length of the value, CF_LOG_PLAIN or
 * CF_LOG_PLACE, `place` counts for the last. */
static int32_t number_of(cf_log *self, int32_t space, word key, word value, int32_t kind,
                         int32_t place)
{
    cf_log_names *all = self->names;
    const int32_t length = kind == CF_LOG_PLACE ? place : (int32_t)key.length;
    uint64_t hash = mix((uint64_t)(uint32_t)space << 32 | (uint32_t)kind, 0x243F6A8885A308D3u);
    hash = kind == CF_LOG_PLACE ? mix(hash, (uint64_t)place) : hash_bytes(hash, key);
    if (kind >= 0)
        hash = hash_bytes(hash, value);
    const uint64_t mask = (uint64_t)all->slots - 1;
    uint64_t at = hash ^ (hash >> 32);
    for (;; at++) {
        int32_t *slot = &all->slot[at & mask];
        if (*slot == 0) {
            *slot = (int32_t)all->n + 1;
            break;
        }
        const cf_log_name *name = &all->name[*slot - 1];
        if (name->hash == hash && name->space == space && name->key == length &&
            name->value == kind && same_bytes(all->bytes + name->begin, key) &&
            same_bytes(all->bytes + name->begin + key.length, value))
            return *slot - 1;
    }
    all->name[all->n] = (cf_log_name){hash, all->n_bytes, self->line, space, length, kind};
    memcpy(all->bytes + all->n_bytes, key.begin, (size_t)key.length);
    memcpy(all->bytes + all->n_bytes + key.length, value.begin, (size_t)value.length);
    all->n_bytes += key.length + value.length;
    return (int32_t)all->n++;
}

void cf_log_place_names(cf_log_names *self)
{
    const uint64_t mask = (uint64_t)self->slots - 1;
    for (ptrdiff_t i = 0; i < self->n; i++) {
        uint64_t at = self->name[i].hash ^ (self->name[i].hash >> 32);
        while (self->slot[at & mask] != 0)
            at++;
        self->slot[at & mask] = (int32_t)i + 1;
    }
}

int32_t cf_log_space(cf_log *self, word name)
{
    return number_of(self, -1, name, NOTHING, CF_LOG_PLAIN, 0);
}

/* --- pairs, rows, rounds --------------------------------------------------------------------- */

static void add(cf_log_pairs *to, int32_t name, double value)
{
    to->name[to->n] = name;
    to->value[to->n++] = value;
}

void cf_log_add(cf_log *self, cf_log_pairs *to, int32_t space, word key, double value)
{
    if (value != 0.0)
        add(to, number_of(self, space, key, NOTHING, CF_LOG_PLAIN, 0), value);
}

void cf_log_add_word(cf_log *self, cf_log_pairs *to, int32_t space, word key, word value)
{
    add(to, number_of(self, space, key, value, (int32_t)value.length, 0), 1.0);
}

void cf_log_add_place(cf_log *self, cf_log_pairs *to, int32_t space, int32_t place, double value)
{
    if (value != 0.0)
        add(to, number_of(self, space, NOTHING, NOTHING, CF_LOG_PLACE, place), value);
}

void cf_log_end_row(cf_log *self) { self->row_end[self->n_rows++] = self->actions.n; }

int cf_log_end_round(cf_log *self, const cf_log_rules *rules, log_mark mark,
                     const log_label *label, const char *const names[3])
{
    const ptrdiff_t actions = self->n_rows - mark.rows;
    const double parts[] = {label->cost, label->probability, label->chosen};
    if (rules->skip_unlabelled && isnan(label->cost) && isnan(label->probability)) {
        self->n_unlabelled++;
        cf_log_go_back(self, mark);
        return CF_OK;
    }
    for (int i = 0; i < 3; i++)
        if (isnan(parts[i]))
            return cf_log_refuse(self, CF_EABSENT, names[i], (ptrdiff_t)strlen(names[i]));
    self->got = label->probability;
    if (!(label->probability > 0.0 && label->probability <= 1.0))
        return cf_log_refuse(self, CF_EVALUE, names[1], (ptrdiff_t)strlen(names[1]));
    self->got = label->chosen;
    if (!(label->chosen >= 0.0 && label->chosen < (double)actions))
        return cf_log_refuse(self, CF_EVALUE, names[2], (ptrdiff_t)strlen(names[2]));
    const ptrdiff_t t = self->n_rounds++;
    self->round_end[t] = self->n_rows;
    self->shared_end[t] = self->shared.n;
    self->chosen[t] = (int64_t)label->chosen;
    self->cost[t] = label->cost;
    self->probability[t] = label->probability;
    self->taken++;
    return CF_OK;
}

/* --- the columns of VW ----------------------------------------------------------------------- */

static uint32_t rotated(uint32_t x, int r) { return x << r | x >> (32 - r); }

static uint32_t scrambled(uint32_t k) { return rotated(k * 0xCC9E2D51u, 15) * 0x1B873593u; }

/* MurmurHash3, x86, 32 bits; its words are little-endian. */
static uint32_t murmur(const unsigned char *p, ptrdiff_t length, uint32_t h)
{
    ptrdiff_t i = 0;
    for (; length - i >= 4; i += 4) {
        const uint32_t k = (uint32_t)p[i] | (uint32_t)p[i + 1] << 8 | (uint32_t)p[i + 2] << 16 |
                           (uint32_t)p[i + 3] << 24;
        h = rotated(h ^ scrambled(k), 13) * 5 + 0xE6546B64u;
    }
    uint32_t rest = 0;
    for (ptrdiff_t j = length - 1; j >= i; j--)
        rest = rest << 8 | p[j];
    if (i < length)
        h ^= scrambled(rest);
    h ^= (uint32_t)length;
    h = (h ^ h >> 16) * 0x85EBCA6Bu;
    h = (h ^ h >> 13) * 0xC2B2AE35u;
    return h ^ h >> 16;
}

static int is_space(char c) { return (unsigned char)c <= ' '; }

uint64_t cf_log_hash(const char *bytes, ptrdiff_t length, uint64_t seed)
{
    for (; length > 0 && is_space(*bytes); bytes++)
        length--;
    while (length > 0 && is_space(bytes[length - 1]))
        length--;
    uint64_t number = 0;
    for (ptrdiff_t i = 0; i < length; i++) {
        if (!is_digit(bytes[i]))
            return murmur((const unsigned char *)bytes, length, (uint32_t)seed);
        number = 10 * number + (uint64_t)(bytes[i] - '0');
    }
    return number + seed;
}

void cf_log_columns(const cf_log_names *self, ptrdiff_t begin, int bits, int chain,
                    int64_t *column)
{
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    for (ptrdiff_t i = begin; i < self->n; i++) {
        const cf_log_name *name = &self->name[i];
        column[i - begin] = 0;
        if (name->space < 0)
            continue;
        const cf_log_name *space = &self->name[name->space];
        const uint64_t seed = cf_log_hash(self->bytes + space->begin, space->key, 0);
        const char *key = self->bytes + name->begin;
        uint64_t hash;
        if (name->value == CF_LOG_PLACE) {
            hash = seed + (uint64_t)name->key;
        } else if (name->value == CF_LOG_PLAIN) {
            hash = cf_log_hash(key, name->key, seed);
        } else if (chain) {
            hash = cf_log_hash(key, name->key, seed);
            hash = cf_log_hash(key + name->key, name->value, hash);
        } else { /* they stand one behind the other */
            hash = cf_log_hash(key, (ptrdiff_t)name->key + name->value, seed);
        }
        column[i - begin] = (int64_t)(hash & mask);
    }
}
