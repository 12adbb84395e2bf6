#include "coactive_fast/cf_fleet.h"

#include <string.h>

enum { TALLIES = CF_FLEET_CHECK + 1 };
enum { STATE, SUM, SLOT, NEXT, BLOCK, INDEXED, AT, ENTRY, COUNTS, LISTED = COUNTS + TALLIES };
#define EMPTY ((uint64_t)0)
#define DELETED ((uint64_t)1 << 32 | 1)
enum { FIRST = 2, CHECK_AT = 32, TAG_AT = 40 };
#define ACTIVE (~(uint64_t)0)
#define LINE_WORDS 8
#define PATIENCE 1000 /* readings of an odd SEQ before its area is read; of counts at most */

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

/* In eight lanes the sum of the words and the sum of these sums, so that places count; turned from
 * lane to lane, so that the highest bits of different words do not weigh the same. */
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
        a = (a << 23 | a >> 41) + s[l] * odd[l];
        b += t[l] * odd[7 - l];
    }
    return cf_fleet_hash(a ^ cf_fleet_hash(b));
}

/* --- entries of the index --- */

static inline uint64_t home(uint64_t entries, uint64_t hash) { return (hash >> 32) * entries >> 32; }

/* The XOR of the eight bytes: 0 of a sound entry, and never after one bit of it was turned. */
static inline uint64_t folded(uint64_t entry)
{
    entry ^= entry >> 32;
    entry ^= entry >> 16;
    return (entry ^ entry >> 8) & 0xff;
}
static inline uint64_t entry_of(uint64_t hash, int64_t slot)
{
    const uint64_t bare = hash << TAG_AT | ((uint64_t)slot + FIRST);
    return bare | folded(bare) << CHECK_AT;
}
/* Below 0 where it is empty or deleted. */
static inline int64_t slot_of(uint64_t entry) { return (int64_t)(uint32_t)entry - FIRST; }
static inline int same_tag(uint64_t entry, uint64_t hash)
{
    return (entry ^ hash << TAG_AT) >> TAG_AT == 0;
}
static inline int is_slot(const cf_fleet *self, int64_t slot)
{
    return (uint64_t)slot < (uint64_t)self->capacity;
}
static inline int is_sound(const cf_fleet *self, uint64_t entry)
{
    return folded(entry) == 0 && (is_slot(self, slot_of(entry)) || entry == DELETED);
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

/* --- the parts of a record --- */

/* All zero: a slot that was never used. */
static inline int is_untouched(const uint64_t *r)
{
    return (r[CF_FLEET_SEQ] | r[CF_FLEET_SUM]) == 0;
}

static uint64_t head_sum(const cf_fleet *self, const uint64_t *r)
{
    return cf_fleet_sum(r + CF_FLEET_KEY, self->head - CF_FLEET_KEY);
}

static int head_is_whole(const cf_fleet *self, const uint64_t *r)
{
    return r[CF_FLEET_SUM] == head_sum(self, r);
}

static uint64_t block_sum(const cf_fleet *self, const uint64_t *part)
{
    return cf_fleet_sum(part + 1, self->block - 1);
}

static int parts_are_whole(const cf_fleet *self, const uint64_t *r, int64_t block)
{
    if (block == CF_FLEET_NOTHING)
        return 1;
    if (!head_is_whole(self, r))
        return 0;
    const int64_t from = block < 0 ? 0 : block, to = block == CF_FLEET_ALL ? self->k : block + 1;
    const uint64_t *part = r + self->head + from * self->block;
    for (int64_t i = from; i < to; i++, part += self->block)
        if (part[CF_FLEET_BLOCK_SUM] != block_sum(self, part))
            return 0;
    return 1;
}

/* --- areas --- */

/* The parts of a record that an area changes. */
static void copy_parts(const cf_fleet *self, uint64_t *to, const uint64_t *from, int64_t block)
{
    const int64_t whole = self->head + self->k * self->block, at = self->head + block * self->block;
    memcpy(to + 1, from + 1, bytes((block == CF_FLEET_ALL ? whole : self->head) - 1));
    if (block >= 0)
        memcpy(to + at, from + at, bytes(self->block));
}

/* Whatever bit of STATE was turned. */
static inline int is_active(uint64_t state) { return state && __builtin_popcountll(state) > 32; }

static uint64_t control_sum(const uint64_t *area)
{
    return cf_fleet_sum(area + SLOT, CF_FLEET_CONTROL - SLOT);
}

static int control_is_whole(const cf_fleet *self, const uint64_t *area)
{
    const int64_t block = (int64_t)area[BLOCK];
    return area[SUM] == control_sum(area) && is_slot(self, (int64_t)area[SLOT]) &&
           block < self->k && (block >= CF_FLEET_HEAD || block == CF_FLEET_NOTHING);
}

/* The area by which a record with this odd SEQ is being stored, its control copied; or NULL. There
 * is one as long as SEQ stays the same, unless a bit was turned. */
static const uint64_t *area_of(const cf_fleet *self, int64_t slot, uint64_t seq, uint64_t *control)
{
    for (int64_t i = 0; i < self->n_areas; i++) {
        const uint64_t *area = self->areas + i * self->area;
        if (!is_active(get(area + STATE)))
            continue;
        memcpy(control, area, bytes(CF_FLEET_CONTROL));
        if (control[SLOT] == (uint64_t)slot && control[NEXT] == seq + 1 &&
            (int64_t)control[BLOCK] != CF_FLEET_NOTHING && control_is_whole(self, control))
            return area;
    }
    return NULL;
}

/* What a writer that stands still, or was killed, was about to store there. */
static int from_area(const cf_fleet *self, int64_t slot, uint64_t seq, uint64_t *out)
{
    uint64_t control[CF_FLEET_CONTROL];
    const uint64_t *area = area_of(self, slot, seq, control);
    if (!area)
        return 0;
    memcpy(out, cf_fleet_at(self, slot), bytes(self->record));
    copy_parts(self, out, area + CF_FLEET_CONTROL, (int64_t)control[BLOCK]);
    out[CF_FLEET_SEQ] = control[NEXT];
    return parts_are_whole(self, out, (int64_t)control[BLOCK]);
}

/* Whether SEQ is `seq` still, after what was read since. */
static inline int is_still(const uint64_t *r, uint64_t seq)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return __atomic_load_n(r + CF_FLEET_SEQ, __ATOMIC_RELAXED) == seq;
}

/* Whether a head in its place is, which another thread may be storing: then it is. */
static int head_is_whole_now(const cf_fleet *self, int64_t slot)
{
    const uint64_t *r = cf_fleet_at(self, slot);
    uint64_t control[CF_FLEET_CONTROL];
    for (;;) {
        const uint64_t seq = get(r + CF_FLEET_SEQ);
        const int whole = seq & 1 ? area_of(self, slot, seq, control) != NULL
                                  : head_is_whole(self, r);
        if (is_still(r, seq))
            return whole;
    }
}

/* --- the index --- */

void cf_fleet_expect(const cf_fleet *self, uint64_t hash)
{
    __builtin_prefetch(self->index + home(self->entries, hash));
}

void cf_fleet_fetch(const cf_fleet *self, uint64_t hash)
{
    const int64_t slot = slot_of(self->index[home(self->entries, hash)]);
    if (!is_slot(self, slot))
        return;
    const uint64_t *r = cf_fleet_at(self, slot);
    for (int64_t i = 0; i < self->record && i < 64 * LINE_WORDS; i += LINE_WORDS)
        __builtin_prefetch(r + i, 1);
}

/* What an entry names that has the tag of a key, but is not its model: -1, that of another key with
 * this tag; `slot`, a record that is not whole; or the entry is not of this record. */
static int64_t other_than(const cf_fleet *self, uint64_t entry, int64_t slot, const uint64_t *r,
                          int whole)
{
    if (!is_sound(self, entry))
        return CF_FLEET_UNSOUND;
    if (!whole)
        return slot;
    if ((int64_t)r[CF_FLEET_ROUNDS] == CF_FLEET_FREE)
        return CF_FLEET_UNSOUND;
    return same_tag(entry, hash_of(self, r[CF_FLEET_KEY])) ? -1 : CF_FLEET_UNSOUND;
}

int64_t cf_fleet_find(const cf_fleet *self, uint64_t key, const char *text, uint64_t *at)
{
    const uint64_t hash = hash_of(self, key);
    int reusable = 0;
    uint64_t i = home(self->entries, hash);
    for (uint64_t looks = 0; looks < self->entries; looks++) {
        const uint64_t entry = get(self->index + i);
        const int64_t slot = slot_of(entry);
        if (same_tag(entry, hash) && is_slot(self, slot)) {
            const uint64_t *r = cf_fleet_at(self, slot);
            if (is_of(self, r, key, text) && folded(entry) == 0) {
                *at = i;
                return slot;
            }
            const int64_t found = other_than(self, entry, slot, r, head_is_whole_now(self, slot));
            if (found != -1) {
                *at = i;
                return found;
            }
        } else if (entry == EMPTY) {
            if (!reusable)
                *at = i;
            return -1;
        } else if (!is_sound(self, entry)) {
            return CF_FLEET_UNSOUND;
        } else if (entry == DELETED && !reusable) {
            reusable = 1;
            *at = i;
        }
        if (++i == self->entries)
            i = 0;
    }
    return reusable ? -1 : CF_FLEET_UNSOUND;
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

static void enter(uint64_t *index, uint64_t entries, uint64_t hash, int64_t slot)
{
    uint64_t i = home(entries, hash);
    while (index[i] != EMPTY)
        if (++i == entries)
            i = 0;
    index[i] = entry_of(hash, slot);
}

void cf_fleet_enter(const cf_fleet *self, uint64_t *index, uint64_t entries, int64_t slot)
{
    enter(index, entries, hash_of(self, cf_fleet_at(self, slot)[CF_FLEET_KEY]), slot);
}

/* --- reading, in any process --- */

int cf_fleet_whole(const cf_fleet *self, const uint64_t *record)
{
    return !(record[CF_FLEET_SEQ] & 1) && parts_are_whole(self, record, CF_FLEET_ALL);
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

int cf_fleet_copy(const cf_fleet *self, int64_t slot, uint64_t *out)
{
    const uint64_t *r = cf_fleet_at(self, slot);
    for (uint64_t looks = 1;; looks++) {
        const uint64_t seq = get(r + CF_FLEET_SEQ);
        if (seq & 1 && looks % PATIENCE)
            continue;
        if (!(seq & 1) || !from_area(self, slot, seq, out)) { /* odd: it is damaged */
            memcpy(out, r, bytes(self->record));
            out[CF_FLEET_SEQ] = seq;
        }
        if (is_still(r, seq))
            break;
    }
    return !is_untouched(out) && (int64_t)out[CF_FLEET_ROUNDS] != CF_FLEET_FREE;
}

/* Whether a change of index and counts was begun, which is as good as done: so all that a reader
 * finds is of one moment if the writer was killed then. Keys come and go by the first area alone. */
static int is_begun(const cf_fleet *self, uint64_t *control)
{
    if (!is_active(get(self->areas + STATE)))
        return 0;
    memcpy(control, self->areas, bytes(CF_FLEET_CONTROL));
    if (!control_is_whole(self, control) || !control[INDEXED])
        return 0;
    if ((int64_t)control[BLOCK] != CF_FLEET_NOTHING)
        return get(cf_fleet_at(self, (int64_t)control[SLOT]) + CF_FLEET_SEQ) + 1 >= control[NEXT];
    return control[AT] >= self->entries || get(self->index + control[AT]) == control[ENTRY];
}

/* A key that has no entry yet. */
static int64_t search_begun(const cf_fleet *self, uint64_t key, const char *text, uint64_t *out)
{
    uint64_t control[CF_FLEET_CONTROL];
    if (!is_begun(self, control) || (int64_t)control[BLOCK] != CF_FLEET_ALL)
        return -1;
    const int64_t slot = (int64_t)control[SLOT];
    return cf_fleet_copy(self, slot, out) && is_of(self, out, key, text) ? slot : -1;
}

static int64_t search(const cf_fleet *self, uint64_t key, const char *text, uint64_t *out)
{
    const uint64_t hash = hash_of(self, key);
    uint64_t i = home(self->entries, hash);
    for (uint64_t looks = 0; looks < self->entries; looks++) {
        const uint64_t entry = get(self->index + i);
        const int64_t slot = slot_of(entry);
        if (entry == EMPTY)
            break;
        if (same_tag(entry, hash) && is_slot(self, slot)) {
            const int there = cf_fleet_copy(self, slot, out); /* or it was freed just now */
            if (there && is_of(self, out, key, text) && folded(entry) == 0)
                return slot;
            int64_t found = is_sound(self, entry) ? -1 : CF_FLEET_UNSOUND;
            if (there)
                found = other_than(self, entry, slot, out, head_is_whole(self, out));
            if (get(self->index + i) != entry)
                continue; /* the slot is another key's by now */
            if (found != -1)
                return found;
        } else if (!is_sound(self, entry)) {
            return CF_FLEET_UNSOUND;
        }
        if (++i == self->entries)
            i = 0;
    }
    return search_begun(self, key, text, out);
}

int64_t cf_fleet_get(const cf_fleet *self, uint64_t key, const char *text, uint64_t *out)
{
    if (get(self->generation) != self->known)
        return CF_FLEET_MOVED;
    const int64_t slot = search(self, key, text, out);
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
    return get(self->generation) == self->known ? slot : CF_FLEET_MOVED;
}

static uint64_t counts_sum(const uint64_t *counts)
{
    static const uint64_t none[CF_FLEET_CHECK];
    return cf_fleet_sum(counts, CF_FLEET_CHECK) ^ cf_fleet_sum(none, CF_FLEET_CHECK);
}

static int counts_are_sound(const cf_fleet *self, const uint64_t *counts)
{
    const uint64_t used = counts[CF_FLEET_USED], capacity = (uint64_t)self->capacity;
    return counts[CF_FLEET_CHECK] == counts_sum(counts) && used <= capacity &&
           counts[CF_FLEET_NEXT_FREE] <= used && counts[CF_FLEET_LIVE] <= used &&
           counts[CF_FLEET_RETIRED] <= used && counts[CF_FLEET_DELETED] <= self->entries;
}

/* As they are or, of a change that was begun, as they are about to be. */
static int counts_now(const cf_fleet *self, uint64_t *out)
{
    uint64_t control[CF_FLEET_CONTROL];
    for (int i = 0; i < TALLIES; i++)
        out[i] = get(self->counts + i);
    if (is_begun(self, control) && counts_are_sound(self, control + COUNTS))
        memcpy(out, control + COUNTS, bytes(TALLIES));
    return counts_are_sound(self, out);
}

int cf_fleet_counts(const cf_fleet *self, uint64_t *out)
{
    for (int looks = 0; looks < PATIENCE; looks++) {
        const int sound = get(self->generation) == self->known && counts_now(self, out);
        __atomic_thread_fence(__ATOMIC_ACQUIRE);
        if (get(self->generation) != self->known)
            return CF_FLEET_MOVED;
        if (sound)
            return 1;
    }
    return 0;
}

/* --- writing --- */

static uint64_t *begin(const cf_fleet *self, int64_t i, int64_t slot, int64_t block)
{
    uint64_t *area = self->areas + i * self->area;
    area[SLOT] = (uint64_t)slot;
    area[NEXT] = (cf_fleet_at(self, slot)[CF_FLEET_SEQ] & ~(uint64_t)1) + 2;
    area[BLOCK] = (uint64_t)block;
    area[INDEXED] = area[LISTED] = 0;
    return area;
}

/* The same with an entry of the index, `at` (self->entries: none), and the counts of now. */
static uint64_t *begin_indexed(const cf_fleet *self, int64_t i, int64_t slot, int64_t block,
                               uint64_t at, uint64_t entry)
{
    uint64_t *area = begin(self, i, slot, block);
    area[INDEXED] = 1;
    area[AT] = at;
    area[ENTRY] = entry;
    memcpy(area + COUNTS, self->counts, bytes(TALLIES));
    return area;
}

uint64_t *cf_fleet_take(const cf_fleet *self, int64_t i, int64_t slot, int64_t block)
{
    uint64_t *area = begin(self, i, slot, block);
    copy_parts(self, area + CF_FLEET_CONTROL, cf_fleet_at(self, slot), block);
    return area + CF_FLEET_CONTROL;
}

static int is_free(const cf_fleet *self, int64_t slot)
{
    const uint64_t *r = cf_fleet_at(self, slot);
    return head_is_whole(self, r) && (int64_t)r[CF_FLEET_ROUNDS] == CF_FLEET_FREE &&
           r[CF_FLEET_KEY] <= self->counts[CF_FLEET_USED];
}

/* An area for all of a slot that is free now, whose entry goes to `at`; counts as they are but for
 * that. NULL where the slot is not free after all. */
static uint64_t *begin_new(const cf_fleet *self, int64_t i, uint64_t key, uint64_t at)
{
    const uint64_t *now = self->counts;
    const int recycled = now[CF_FLEET_NEXT_FREE] != 0;
    const uint64_t slot = recycled ? now[CF_FLEET_NEXT_FREE] - 1 : now[CF_FLEET_USED];
    if (!is_slot(self, (int64_t)slot) || (recycled && !is_free(self, (int64_t)slot)))
        return NULL;
    uint64_t *area = begin_indexed(self, i, (int64_t)slot, CF_FLEET_ALL, at,
                                   entry_of(hash_of(self, key), (int64_t)slot));
    area[COUNTS + CF_FLEET_USED] += !recycled;
    area[COUNTS + CF_FLEET_NEXT_FREE] =
        recycled ? cf_fleet_at(self, (int64_t)slot)[CF_FLEET_KEY] : 0;
    return area;
}

/* Lists a slot behind those that count; the area's counts include it. The epoch tells what it is
 * wherever list and counts are not of one moment. */
static void retire(const cf_fleet *self, uint64_t *area, int64_t slot)
{
    area[LISTED] = entry_of(self->epoch, slot);
    area[COUNTS + CF_FLEET_RETIRED]++;
}

int64_t cf_fleet_retired(const cf_fleet *self, int64_t i, uint64_t epoch)
{
    const uint64_t entry = self->retired[i];
    if (entry != EMPTY && !is_sound(self, entry))
        return CF_FLEET_UNSOUND;
    return same_tag(entry, epoch) && slot_of(entry) >= 0 ? slot_of(entry) : -1;
}

int cf_fleet_is_kept(const cf_fleet *self, int64_t slot)
{
    return cf_fleet_at(self, slot)[CF_FLEET_EPOCH] < self->epoch;
}

uint64_t *cf_fleet_move(const cf_fleet *self, int64_t i, int64_t slot, uint64_t at)
{
    const uint64_t *old = cf_fleet_at(self, slot);
    uint64_t *area = begin_new(self, i, old[CF_FLEET_KEY], at);
    if (!area)
        return NULL;
    uint64_t *r = area + CF_FLEET_CONTROL;
    retire(self, area, slot);
    memcpy(r, old, bytes(self->head + self->k * self->block));
    r[CF_FLEET_EPOCH] = self->epoch;
    return r;
}

uint64_t *cf_fleet_create(const cf_fleet *self, int64_t i, uint64_t key, const char *text,
                          uint64_t at)
{
    uint64_t *area = begin_new(self, i, key, at);
    if (!area)
        return NULL;
    uint64_t *r = area + CF_FLEET_CONTROL;
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
        set(r + CF_FLEET_SEQ, area[NEXT] - 1);
        __atomic_thread_fence(__ATOMIC_RELEASE);
        copy_parts(self, r, area + CF_FLEET_CONTROL, (int64_t)area[BLOCK]);
        set(r + CF_FLEET_SEQ, area[NEXT]);
    }
    if (!area[INDEXED])
        return;
    if (area[LISTED] && area[COUNTS + CF_FLEET_RETIRED] <= (uint64_t)self->capacity)
        set(self->retired + area[COUNTS + CF_FLEET_RETIRED] - 1, area[LISTED]);
    if (area[AT] < self->entries)
        set(self->index + area[AT], area[ENTRY]);
    for (int i = 0; i < TALLIES; i++)
        set(self->counts + i, area[COUNTS + i]);
}

static void seal(const cf_fleet *self, uint64_t *r, int64_t block)
{
    uint64_t *part = r + self->head;
    for (int64_t i = 0; i < self->k; i++, part += self->block)
        if (block == i || block == CF_FLEET_ALL)
            part[CF_FLEET_BLOCK_SUM] = block_sum(self, part);
    r[CF_FLEET_SUM] = head_sum(self, r);
}

void cf_fleet_put(const cf_fleet *self, int64_t i)
{
    uint64_t *area = self->areas + i * self->area;
    if ((int64_t)area[BLOCK] != CF_FLEET_NOTHING)
        seal(self, area + CF_FLEET_CONTROL, (int64_t)area[BLOCK]);
    if (area[INDEXED])
        area[COUNTS + CF_FLEET_CHECK] = counts_sum(area + COUNTS);
    area[SUM] = control_sum(area);
    set(area + STATE, ACTIVE);
    store(self, area);
    set(area + STATE, 0);
}

/* The head of a record that becomes the first free one, in these counts too. */
static void free_head(const cf_fleet *self, uint64_t *r, uint64_t *counts, int64_t slot)
{
    memset(r + CF_FLEET_KEY, 0, bytes(self->head - CF_FLEET_KEY));
    r[CF_FLEET_KEY] = counts[CF_FLEET_NEXT_FREE];
    r[CF_FLEET_ROUNDS] = (uint64_t)CF_FLEET_FREE;
    counts[CF_FLEET_NEXT_FREE] = (uint64_t)slot + 1;
}

void cf_fleet_remove(const cf_fleet *self, int64_t slot, uint64_t at)
{
    const int kept = cf_fleet_is_kept(self, slot);
    uint64_t *area = begin_indexed(self, 0, slot, kept ? CF_FLEET_NOTHING : CF_FLEET_HEAD, at,
                                   DELETED);
    area[COUNTS + CF_FLEET_LIVE]--;
    area[COUNTS + CF_FLEET_DELETED]++;
    if (kept)
        retire(self, area, slot);
    else
        free_head(self, area + CF_FLEET_CONTROL, area + COUNTS, slot);
    cf_fleet_put(self, 0);
}

void cf_fleet_release(const cf_fleet *self, int64_t i)
{
    const int64_t slot = cf_fleet_retired(self, i, self->epoch);
    if (slot < 0 || (int64_t)cf_fleet_at(self, slot)[CF_FLEET_ROUNDS] == CF_FLEET_FREE)
        return;
    uint64_t *area = begin_indexed(self, 0, slot, CF_FLEET_HEAD, self->entries, EMPTY);
    free_head(self, area + CF_FLEET_CONTROL, area + COUNTS, slot);
    cf_fleet_put(self, 0);
}

void cf_fleet_tally(const cf_fleet *self, int which, uint64_t value)
{
    uint64_t *area = begin_indexed(self, 0, 0, CF_FLEET_NOTHING, self->entries, EMPTY);
    area[COUNTS + which] = value;
    cf_fleet_put(self, 0);
}

int64_t cf_fleet_replay(const cf_fleet *self)
{
    int64_t found = 0;
    for (int64_t i = 0; i < self->n_areas; i++) {
        uint64_t *area = self->areas + i * self->area;
        if (is_active(area[STATE]) && control_is_whole(self, area) &&
            (!area[INDEXED] || counts_are_sound(self, area + COUNTS)) &&
            parts_are_whole(self, area + CF_FLEET_CONTROL, (int64_t)area[BLOCK])) {
            store(self, area);
            found++;
        }
        set(area + STATE, 0);
    }
    return found;
}

/* --- damage --- */

int64_t cf_fleet_unsound(const cf_fleet *self)
{
    int64_t found = 0;
    for (uint64_t i = 0; i < self->entries; i++) {
        const uint64_t entry = get(self->index + i);
        found += entry != EMPTY && !is_sound(self, entry);
    }
    return found;
}

int cf_fleet_mend(const cf_fleet *self, uint64_t *record)
{
    if (head_is_whole(self, record))
        return 1;
    for (int64_t i = CF_FLEET_SUM; i < self->head; i++)
        for (int bit = 0; bit < 64; bit++) {
            record[i] ^= (uint64_t)1 << bit;
            if (head_is_whole(self, record))
                return 1;
            record[i] ^= (uint64_t)1 << bit;
        }
    return 0;
}

static inline int has_bit(const uint8_t *bits, int64_t slot)
{
    return bits[slot / 8] >> (slot & 7) & 1;
}

int64_t cf_fleet_fill(const cf_fleet *self, uint64_t *index, uint64_t entries, int64_t used,
                      const uint8_t *listed)
{
    uint64_t *head = self->areas + CF_FLEET_CONTROL;
    memset(index, 0, bytes((int64_t)entries));
    for (int64_t slot = 0; slot < used; slot++) {
        const uint64_t *r = cf_fleet_at(self, slot);
        if (is_untouched(r) || (listed && has_bit(listed, slot)))
            continue;
        memcpy(head, r, bytes(self->head));
        if (!cf_fleet_mend(self, head))
            return slot;
        if ((int64_t)head[CF_FLEET_ROUNDS] != CF_FLEET_FREE)
            enter(index, entries, hash_of(self, head[CF_FLEET_KEY]), slot);
    }
    return -1;
}

/* Sets the bit of a slot; 0 where it has none, or it was set already. */
static int name(uint8_t *named, int64_t slot, int64_t used)
{
    if (slot < 0 || slot >= used || has_bit(named, slot))
        return 0;
    named[slot / 8] |= (uint8_t)(1u << (slot & 7));
    return 1;
}

/* The slots that the index and the list name, and how many there are. */
static int name_slots(const cf_fleet *self, uint64_t *counts, uint8_t *named)
{
    const int64_t used = (int64_t)counts[CF_FLEET_USED];
    for (uint64_t i = 0; i < self->entries; i++) {
        const uint64_t entry = self->index[i];
        counts[CF_FLEET_DELETED] += entry == DELETED;
        if (entry == EMPTY || entry == DELETED)
            continue;
        if (!is_sound(self, entry) || !name(named, slot_of(entry), used))
            return 0;
        counts[CF_FLEET_LIVE]++;
    }
    for (int64_t i = 0; self->epoch && i < self->capacity; i++) {
        const int64_t slot = cf_fleet_retired(self, i, self->epoch);
        if (slot == -1)
            break;
        if (!name(named, slot, used))
            return 0;
        counts[CF_FLEET_RETIRED]++;
    }
    return 1;
}

int cf_fleet_recount(const cf_fleet *self, uint8_t *named)
{
    uint64_t counts[TALLIES] = {0};
    int64_t used = self->capacity;
    while (used > 0 && is_untouched(cf_fleet_at(self, used - 1)))
        used--;
    counts[CF_FLEET_USED] = (uint64_t)used;
    if (!name_slots(self, counts, named))
        return 0;
    for (int64_t slot = used - 1; slot >= 0; slot--) {
        uint64_t *r = cf_fleet_at(self, slot);
        if (has_bit(named, slot))
            continue;
        free_head(self, r, counts, slot);
        r[CF_FLEET_SUM] = head_sum(self, r);
        r[CF_FLEET_SEQ] = (r[CF_FLEET_SEQ] | 1) + 1;
    }
    uint64_t *area = begin_indexed(self, 0, 0, CF_FLEET_NOTHING, self->entries, EMPTY);
    memcpy(area + COUNTS, counts, sizeof counts);
    cf_fleet_put(self, 0);
    return 1;
}
