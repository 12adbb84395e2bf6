#include "coactive_fast/cf_fleet.h"

#include <string.h>

enum { STATE, SUM, SLOT, NEXT, BLOCK, INDEXED, AT, ENTRY, COUNTS };
enum { TALLIES = CF_FLEET_RETIRED + 1 };
enum { EMPTY, DELETED, FIRST };
#define SLOT_BITS 40
#define LINE_WORDS 8
#define PATIENCE 1000 /* looks at an odd SEQ before its writer is taken for dead */

/* Stores stand in the program in the order in which a kill may cut them off. */
#define IN_ORDER __atomic_signal_fence(__ATOMIC_SEQ_CST)

static inline uint64_t get(const uint64_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static inline void set(uint64_t *p, uint64_t value)
{
    IN_ORDER;
    __atomic_store_n(p, value, __ATOMIC_RELEASE);
    IN_ORDER;
}

static inline size_t bytes(int64_t words) { return (size_t)words * sizeof(uint64_t); }

uint64_t cf_fleet_hash(uint64_t x)
{
    x ^= x >> 33;
    x *= 0xff51afd7ed558ccdu;
    x ^= x >> 33;
    x *= 0xc4ceb9fe1a85ec53u;
    return x ^ x >> 33;
}

uint64_t cf_fleet_text_hash(const char *text)
{
    uint64_t h = 0x9e3779b97f4a7c15u, word;
    for (size_t i = 0; i < CF_FLEET_TEXT / sizeof word; i++) {
        memcpy(&word, text + i * sizeof word, sizeof word);
        h = cf_fleet_hash(h ^ word) + 0x9e3779b97f4a7c15u;
    }
    return h;
}

/* In eight lanes the sum of the words and the sum of these sums, so that places count. */
uint64_t cf_fleet_sum(const uint64_t *words, int64_t n)
{
    static const uint64_t odd[8] = {0x9e3779b97f4a7c15u, 0xbf58476d1ce4e5b9u, 0x94d049bb133111ebu,
                                    0xff51afd7ed558ccdu, 0xc4ceb9fe1a85ec53u, 0xd6e8feb86659fd93u,
                                    0xa0761d6478bd642fu, 0xe7037ed1a0b428dbu};
    uint64_t s[8] = {0}, t[8] = {0}, a = (uint64_t)n, b = 0x2545f4914f6cdd1du;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int l = 0; l < 8; l++) {
            s[l] += words[i + l];
            t[l] += s[l];
        }
    for (int l = 0; l < 8; l++) {
        s[l] += i + l < n ? words[i + l] : 0;
        t[l] += s[l];
        a += s[l] * odd[l];
        b += t[l] * odd[7 - l];
    }
    return cf_fleet_hash(a ^ cf_fleet_hash(b));
}

/* --- the index --- */

static inline uint64_t home(uint64_t entries, uint64_t hash) { return (hash >> 32) * entries >> 32; }
static inline uint64_t entry_of(uint64_t hash, int64_t slot)
{
    return hash << SLOT_BITS | ((uint64_t)slot + FIRST);
}
static inline int64_t slot_of(uint64_t entry)
{
    return (int64_t)(entry & (((uint64_t)1 << SLOT_BITS) - 1)) - FIRST;
}
static inline int same_tag(uint64_t entry, uint64_t hash)
{
    return entry >= FIRST && (entry ^ hash << SLOT_BITS) >> SLOT_BITS == 0;
}

static inline int is_of(const cf_fleet *self, const uint64_t *r, uint64_t key, const char *text)
{
    return r[CF_FLEET_KEY] == key && (int64_t)r[CF_FLEET_ROUNDS] != CF_FLEET_FREE &&
           (!text || memcmp(r + self->head - self->text, text, CF_FLEET_TEXT) == 0);
}

/* Of text the key is the hash. */
static inline uint64_t hash_of(const cf_fleet *self, uint64_t key)
{
    return self->text ? key : cf_fleet_hash(key);
}

void cf_fleet_expect(const cf_fleet *self, uint64_t hash)
{
    __builtin_prefetch(self->index + home(self->entries, hash));
}

void cf_fleet_fetch(const cf_fleet *self, uint64_t hash)
{
    const uint64_t entry = self->index[home(self->entries, hash)];
    if (entry < FIRST || slot_of(entry) >= self->capacity)
        return;
    const uint64_t *r = cf_fleet_at(self, slot_of(entry));
    for (int64_t i = 0; i < self->record && i < 64 * LINE_WORDS; i += LINE_WORDS)
        __builtin_prefetch(r + i, 1);
}

int64_t cf_fleet_find(const cf_fleet *self, uint64_t key, const char *text, uint64_t *at)
{
    const uint64_t hash = hash_of(self, key);
    int reusable = 0;
    uint64_t i = home(self->entries, hash);
    for (uint64_t looks = 0; looks < self->entries; looks++) {
        const uint64_t entry = self->index[i];
        if (entry == EMPTY) {
            if (!reusable)
                *at = i;
            return -1;
        }
        if (entry == DELETED && !reusable) {
            reusable = 1;
            *at = i;
        }
        if (same_tag(entry, hash) && is_of(self, cf_fleet_at(self, slot_of(entry)), key, text)) {
            *at = i;
            return slot_of(entry);
        }
        if (++i == self->entries)
            i = 0;
    }
    return -1;
}

int cf_fleet_has_slot(const cf_fleet *self)
{
    return self->counts[CF_FLEET_NEXT_FREE] ||
           (int64_t)self->counts[CF_FLEET_USED] < self->capacity;
}

int cf_fleet_has_entry(const cf_fleet *self)
{
    return self->counts[CF_FLEET_LIVE] + self->counts[CF_FLEET_DELETED] <
           self->entries - self->entries / 4;
}

void cf_fleet_enter(const cf_fleet *self, uint64_t *index, uint64_t entries, int64_t slot)
{
    const uint64_t hash = hash_of(self, cf_fleet_at(self, slot)[CF_FLEET_KEY]);
    uint64_t i = home(entries, hash);
    while (index[i] != EMPTY)
        if (++i == entries)
            i = 0;
    index[i] = entry_of(hash, slot);
}

/* --- reading, in any process --- */

static uint64_t *part_of(const cf_fleet *self, uint64_t *record, int64_t block)
{
    return record + self->head + block * self->block;
}

static int head_is_whole(const cf_fleet *self, const uint64_t *r)
{
    return r[CF_FLEET_SUM] == cf_fleet_sum(r + CF_FLEET_KEY, self->head - CF_FLEET_KEY);
}

static int block_is_whole(const cf_fleet *self, const uint64_t *part)
{
    return part[CF_FLEET_BLOCK_SUM] == cf_fleet_sum(part + 1, self->block - 1);
}

static int parts_are_whole(const cf_fleet *self, const uint64_t *r, int64_t block)
{
    if (block == CF_FLEET_NOTHING)
        return 1;
    if (!head_is_whole(self, r))
        return 0;
    const int64_t from = block < 0 ? 0 : block, to = block == CF_FLEET_ALL ? self->k : block + 1;
    for (int64_t i = from; i < to; i++)
        if (!block_is_whole(self, r + self->head + i * self->block))
            return 0;
    return 1;
}

int cf_fleet_whole(const cf_fleet *self, const uint64_t *record)
{
    return parts_are_whole(self, record, CF_FLEET_ALL);
}

int cf_fleet_seen_whole(const cf_fleet *self, uint8_t *seen, int64_t slot)
{
    const uint8_t bit = (uint8_t)(1u << (slot & 7));
    if (__atomic_load_n(seen + slot / 8, __ATOMIC_RELAXED) & bit)
        return 1;
    if (!cf_fleet_whole(self, cf_fleet_at(self, slot)))
        return 0;
    __atomic_fetch_or(seen + slot / 8, bit, __ATOMIC_RELAXED);
    return 1;
}

/* The parts of a record that an area changes. */
static void copy_parts(const cf_fleet *self, uint64_t *to, const uint64_t *from, int64_t block)
{
    const int64_t whole = self->head + self->k * self->block, at = self->head + block * self->block;
    memcpy(to + 1, from + 1, bytes((block == CF_FLEET_ALL ? whole : self->head) - 1));
    if (block >= 0)
        memcpy(to + at, from + at, bytes(self->block));
}

static uint64_t control_sum(const uint64_t *area)
{
    return cf_fleet_sum(area + SLOT, CF_FLEET_CONTROL - SLOT);
}

/* What a writer that stands still, or was killed, was about to store there. */
static int from_areas(const cf_fleet *self, int64_t slot, uint64_t seq, uint64_t *out)
{
    for (int64_t i = 0; i < self->n_areas; i++) {
        const uint64_t *area = self->areas + i * self->area;
        uint64_t control[CF_FLEET_CONTROL];
        if (get(area + STATE) != 1)
            continue;
        memcpy(control, area, sizeof control);
        if (control[SLOT] != (uint64_t)slot || control[NEXT] != seq + 1 ||
            (int64_t)control[BLOCK] == CF_FLEET_NOTHING)
            continue;
        memcpy(out, cf_fleet_at(self, slot), bytes(self->record));
        copy_parts(self, out, area + CF_FLEET_CONTROL, (int64_t)control[BLOCK]);
        out[CF_FLEET_SEQ] = control[NEXT];
        if (control[SUM] == control_sum(control) &&
            parts_are_whole(self, out, (int64_t)control[BLOCK]))
            return 1;
    }
    return 0;
}

int cf_fleet_copy(const cf_fleet *self, int64_t slot, uint64_t *out)
{
    const uint64_t *r = cf_fleet_at(self, slot);
    for (uint64_t looks = 1;; looks++) {
        const uint64_t seq = get(r + CF_FLEET_SEQ);
        if (seq & 1) {
            if (looks % PATIENCE == 0 && from_areas(self, slot, seq, out))
                break;
            continue;
        }
        memcpy(out, r, bytes(self->record));
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (__atomic_load_n(r + CF_FLEET_SEQ, __ATOMIC_RELAXED) == seq)
            break;
    }
    return out[CF_FLEET_SEQ] != 0 && (int64_t)out[CF_FLEET_ROUNDS] != CF_FLEET_FREE;
}

static int64_t search(const cf_fleet *self, uint64_t key, const char *text, uint64_t *out)
{
    const uint64_t hash = hash_of(self, key);
    uint64_t i = home(self->entries, hash);
    for (uint64_t looks = 0; looks < self->entries; looks++) {
        const uint64_t entry = get(self->index + i);
        if (entry == EMPTY)
            return -1;
        if (same_tag(entry, hash) && slot_of(entry) < self->capacity &&
            cf_fleet_copy(self, slot_of(entry), out) && is_of(self, out, key, text))
            return slot_of(entry);
        if (++i == self->entries)
            i = 0;
    }
    return -1;
}

int64_t cf_fleet_get(const cf_fleet *self, uint64_t key, const char *text, uint64_t *out)
{
    if (get(self->generation) != self->known)
        return CF_FLEET_MOVED;
    const int64_t slot = search(self, key, text, out);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return get(self->generation) == self->known ? slot : CF_FLEET_MOVED;
}

/* --- writing --- */

static uint64_t *begin(const cf_fleet *self, int64_t i, int64_t slot, int64_t block)
{
    uint64_t *area = self->areas + i * self->area;
    area[SLOT] = (uint64_t)slot;
    area[NEXT] = (cf_fleet_at(self, slot)[CF_FLEET_SEQ] & ~(uint64_t)1) + 2;
    area[BLOCK] = (uint64_t)block;
    area[INDEXED] = 0;
    return area;
}

uint64_t *cf_fleet_take(const cf_fleet *self, int64_t i, int64_t slot, int64_t block)
{
    uint64_t *area = begin(self, i, slot, block);
    copy_parts(self, area + CF_FLEET_CONTROL, cf_fleet_at(self, slot), block);
    return area + CF_FLEET_CONTROL;
}

/* An area for all of a slot that is free now, whose entry goes to `at`; counts as they are but for
 * that. */
static uint64_t *begin_new(const cf_fleet *self, int64_t i, uint64_t key, uint64_t at)
{
    const uint64_t *now = self->counts;
    const int recycled = now[CF_FLEET_NEXT_FREE] != 0;
    const uint64_t slot = recycled ? now[CF_FLEET_NEXT_FREE] - 1 : now[CF_FLEET_USED];
    uint64_t *area = begin(self, i, (int64_t)slot, CF_FLEET_ALL);
    area[INDEXED] = 1;
    area[AT] = at;
    area[ENTRY] = entry_of(hash_of(self, key), (int64_t)slot);
    memcpy(area + COUNTS, now, bytes(TALLIES));
    area[COUNTS + CF_FLEET_USED] += !recycled;
    area[COUNTS + CF_FLEET_NEXT_FREE] =
        recycled ? cf_fleet_at(self, (int64_t)slot)[CF_FLEET_KEY] : 0;
    return area;
}

/* Lists a slot behind those that count; the area's counts take it in. With the epoch it is known for
 * what it is wherever list and counts are not of one moment. */
static void retire(const cf_fleet *self, uint64_t *area, int64_t slot)
{
    self->retired[area[COUNTS + CF_FLEET_RETIRED]++] = self->epoch << SLOT_BITS | (uint64_t)slot;
}

int64_t cf_fleet_retired(const cf_fleet *self, int64_t i, uint64_t epoch)
{
    const uint64_t entry = self->retired[i];
    const int64_t slot = (int64_t)(entry & (((uint64_t)1 << SLOT_BITS) - 1));
    return (entry ^ epoch << SLOT_BITS) >> SLOT_BITS == 0 && slot < self->capacity ? slot : -1;
}

int cf_fleet_is_kept(const cf_fleet *self, int64_t slot)
{
    return cf_fleet_at(self, slot)[CF_FLEET_EPOCH] < self->epoch;
}

uint64_t *cf_fleet_move(const cf_fleet *self, int64_t i, int64_t slot, uint64_t at)
{
    const uint64_t *old = cf_fleet_at(self, slot);
    uint64_t *area = begin_new(self, i, old[CF_FLEET_KEY], at), *r = area + CF_FLEET_CONTROL;
    retire(self, area, slot);
    memcpy(r, old, bytes(self->head + self->k * self->block));
    r[CF_FLEET_EPOCH] = self->epoch;
    return r;
}

uint64_t *cf_fleet_create(const cf_fleet *self, int64_t i, uint64_t key, const char *text,
                          uint64_t at)
{
    uint64_t *area = begin_new(self, i, key, at), *r = area + CF_FLEET_CONTROL;
    area[COUNTS + CF_FLEET_LIVE]++;
    area[COUNTS + CF_FLEET_DELETED] -= self->index[at] == DELETED;
    memcpy(r, self->fresh, bytes(self->head + self->k * self->block));
    r[CF_FLEET_KEY] = key;
    r[CF_FLEET_EPOCH] = self->epoch;
    if (text)
        memcpy(r + self->head - self->text, text, CF_FLEET_TEXT);
    return r;
}

/* From the area to its place; done twice it is as done once. */
static void store(const cf_fleet *self, const uint64_t *area)
{
    uint64_t *r = cf_fleet_at(self, (int64_t)area[SLOT]);
    if ((int64_t)area[BLOCK] != CF_FLEET_NOTHING) {
        __atomic_store_n(r + CF_FLEET_SEQ, area[NEXT] - 1, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_RELEASE);
        IN_ORDER;
        copy_parts(self, r, area + CF_FLEET_CONTROL, (int64_t)area[BLOCK]);
        set(r + CF_FLEET_SEQ, area[NEXT]);
    }
    if (!area[INDEXED])
        return;
    if (area[AT] < self->entries)
        set(self->index + area[AT], area[ENTRY]);
    for (int i = 0; i < TALLIES; i++)
        set(self->counts + i, area[COUNTS + i]);
}

static void seal(const cf_fleet *self, uint64_t *r, int64_t block)
{
    for (int64_t i = 0; i < self->k; i++)
        if (block == i || block == CF_FLEET_ALL) {
            uint64_t *part = part_of(self, r, i);
            part[CF_FLEET_BLOCK_SUM] = cf_fleet_sum(part + 1, self->block - 1);
        }
    r[CF_FLEET_SUM] = cf_fleet_sum(r + CF_FLEET_KEY, self->head - CF_FLEET_KEY);
}

void cf_fleet_put(const cf_fleet *self, int64_t i)
{
    uint64_t *area = self->areas + i * self->area;
    seal(self, area + CF_FLEET_CONTROL, (int64_t)area[BLOCK]);
    area[SUM] = control_sum(area);
    set(area + STATE, 1);
    store(self, area);
    set(area + STATE, 0);
}

/* The head of a record that becomes the first free one. */
static void free_head(const cf_fleet *self, uint64_t *area, int64_t slot)
{
    uint64_t *r = area + CF_FLEET_CONTROL;
    memset(r, 0, bytes(self->head));
    r[CF_FLEET_KEY] = area[COUNTS + CF_FLEET_NEXT_FREE];
    r[CF_FLEET_ROUNDS] = (uint64_t)CF_FLEET_FREE;
    area[COUNTS + CF_FLEET_NEXT_FREE] = (uint64_t)slot + 1;
}

void cf_fleet_remove(const cf_fleet *self, int64_t slot, uint64_t at)
{
    const int kept = cf_fleet_is_kept(self, slot);
    uint64_t *area = begin(self, 0, slot, kept ? CF_FLEET_NOTHING : CF_FLEET_HEAD);
    area[INDEXED] = 1;
    area[AT] = at;
    area[ENTRY] = DELETED;
    memcpy(area + COUNTS, self->counts, bytes(TALLIES));
    area[COUNTS + CF_FLEET_LIVE]--;
    area[COUNTS + CF_FLEET_DELETED]++;
    if (kept)
        retire(self, area, slot);
    else
        free_head(self, area, slot);
    cf_fleet_put(self, 0);
}

void cf_fleet_release(const cf_fleet *self, int64_t i)
{
    const int64_t slot = cf_fleet_retired(self, i, self->epoch);
    if (slot < 0 || (int64_t)cf_fleet_at(self, slot)[CF_FLEET_ROUNDS] == CF_FLEET_FREE)
        return;
    uint64_t *area = begin(self, 0, slot, CF_FLEET_HEAD);
    area[INDEXED] = 1;
    area[AT] = self->entries; /* no entry goes with it */
    memcpy(area + COUNTS, self->counts, bytes(TALLIES));
    free_head(self, area, slot);
    cf_fleet_put(self, 0);
}

int64_t cf_fleet_replay(const cf_fleet *self)
{
    int64_t found = 0;
    for (int64_t i = 0; i < self->n_areas; i++) {
        uint64_t *area = self->areas + i * self->area;
        if (area[STATE] != 1)
            continue;
        if (area[SUM] == control_sum(area) && (int64_t)area[SLOT] < self->capacity &&
            parts_are_whole(self, area + CF_FLEET_CONTROL, (int64_t)area[BLOCK])) {
            store(self, area);
            found++;
        }
        set(area + STATE, 0);
    }
    return found;
}
