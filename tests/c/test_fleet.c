/* The records of a fleet in memory of its own: keys that come and go, and changes cut short. */
#include "cf_reference.h"

#include "coactive_fast/cf_fleet.h"

enum { HEAD = 5, BLOCK = 7, WORDS = 32, SLOTS = 40, AREAS = 2 };
enum { STATE = 0, AREA = CF_FLEET_CONTROL + WORDS, COUNTED = CF_FLEET_CHECK + 1 };
#define ACTIVE (~(uint64_t)0)
#define DELETED ((uint64_t)1 << 32 | 1)

typedef struct world {
    cf_fleet f;
    uint64_t *counts, generation, *fresh;
} world;

static uint64_t *take_words(ptrdiff_t n)
{
    uint64_t *words = take_bytes((size_t)n * sizeof *words, 0, 1);
    memset(words, 0, (size_t)n * sizeof *words);
    return words;
}

/* k blocks; the slots lie in two segments */
static world *take_world(int64_t k, int as_text)
{
    world *w = take_bytes(sizeof *w, 0, 1);
    memset(w, 0, sizeof *w);
    const int64_t text = as_text ? CF_FLEET_TEXT / 8 : 0;
    w->counts = take_words(COUNTED);
    w->f = (cf_fleet){.index = take_words(2 * SLOTS), .entries = 2 * SLOTS, .capacity = SLOTS,
                      .segments = 2, .head = HEAD + text, .block = BLOCK, .k = k, .record = WORDS,
                      .text = text, .counts = w->counts, .retired = take_words(SLOTS),
                      .generation = &w->generation,
                      .areas = take_words(AREAS * AREA), .area = AREA, .n_areas = AREAS,
                      .fresh = take_words(WORDS)};
    w->fresh = (uint64_t *)(uintptr_t)w->f.fresh;
    w->fresh[HEAD + text + 3] = 77;
    w->f.segment[0] = (cf_fleet_segment){0, 10, take_words(10 * WORDS)};
    w->f.segment[1] = (cf_fleet_segment){10, SLOTS, take_words((SLOTS - 10) * WORDS)};
    return w;
}

static char *take_text(uint64_t key)
{
    char *text = take_bytes(CF_FLEET_TEXT, 0, 0);
    memset(text, 0, CF_FLEET_TEXT);
    text[0] = (char)snprintf(text + 1, CF_FLEET_TEXT - 1, "key %llu", (unsigned long long)key);
    return text;
}

/* One more round for the key; a number of its block says how many. The area before the store. */
static uint64_t *prepare(world *w, int64_t area, uint64_t key, int64_t block)
{
    const char *text = w->f.text ? take_text(key) : NULL;
    const uint64_t word = text ? cf_fleet_text_hash(text) : key;
    uint64_t at = 0;
    const int64_t slot = cf_fleet_find(&w->f, word, text, &at);
    uint64_t *r = slot < 0                         ? cf_fleet_create(&w->f, area, word, text, at)
                  : cf_fleet_is_kept(&w->f, slot) ? cf_fleet_move(&w->f, area, slot, at)
                                                  : cf_fleet_take(&w->f, area, slot, block);
    r[CF_FLEET_ROUNDS]++;
    r[w->f.head + block * BLOCK + 2] += key + 1;
    return r;
}

static void learn(world *w, uint64_t key, int64_t block)
{
    prepare(w, 0, key, block);
    cf_fleet_put(&w->f, 0);
}

static int64_t find(const world *w, uint64_t key, uint64_t *out)
{
    const char *text = w->f.text ? take_text(key) : NULL;
    return cf_fleet_get(&w->f, text ? cf_fleet_text_hash(text) : key, text, out);
}

static void forget(world *w, uint64_t key)
{
    const char *text = w->f.text ? take_text(key) : NULL;
    uint64_t at = 0;
    const int64_t slot =
        cf_fleet_find(&w->f, text ? cf_fleet_text_hash(text) : key, text, &at);
    CHECK(slot >= 0);
    cf_fleet_remove(&w->f, slot, at);
}

/* Keys come, learn and go: what is there is what should be there. */
TEST(keys_come_and_go)
{
    for (int as_text = 0; as_text < 2; as_text++) {
        world *w = take_world(2, as_text);
        uint64_t rounds[100] = {0}, *out = take_words(WORDS);
        int live = 0;
        for (int turn = 0; turn < check_count(20000, 3000); turn++) {
            const uint64_t key = (uint64_t)random_below(100);
            if (rounds[key] && random_below(3) == 0) {
                forget(w, key);
                rounds[key] = 0;
                live--;
            } else if (rounds[key] || (cf_fleet_has_slot(&w->f) && cf_fleet_has_entry(&w->f))) {
                live += rounds[key] == 0;
                learn(w, key, random_below(2));
                rounds[key]++;
            } else if (!cf_fleet_has_entry(&w->f)) { /* an index without deleted entries */
                CHECK_INT(cf_fleet_fill(&w->f, w->f.index, 2 * SLOTS,
                                        (int64_t)w->counts[CF_FLEET_USED], NULL), -1);
                cf_fleet_tally(&w->f, CF_FLEET_DELETED, 0);
            }
            CHECK_INT(w->counts[CF_FLEET_LIVE], live);
            const uint64_t other = (uint64_t)random_below(100);
            const int64_t slot = find(w, other, out);
            cf_fleet_expect(&w->f, cf_fleet_hash(other));
            cf_fleet_fetch(&w->f, cf_fleet_hash(other));
            CHECK_INT(slot >= 0, rounds[other] > 0);
            if (slot >= 0) {
                CHECK_INT(out[CF_FLEET_ROUNDS], rounds[other]);
                CHECK_INT(out[w->f.head + 2] + out[w->f.head + BLOCK + 2],
                          rounds[other] * (other + 1));
                CHECK_INT(out[w->f.head + 3], 77);
                CHECK(cf_fleet_whole(&w->f, out));
            }
            if (turn % 1000 == 999)
                CHECK(w->counts[CF_FLEET_USED] <= SLOTS);
        }
        release();
    }
}

/* A store that was cut off at every word: a reader sees the new record, and so does who replays. */
TEST(a_store_cut_short)
{
    for (int64_t block = 0; block < 2; block++)
        for (int64_t stored = 0; stored <= HEAD + 2 * BLOCK; stored++) {
            CONTEXT("block %d, %d words", (int)block, (int)stored);
            world *w = take_world(2, 0);
            uint64_t *out = take_words(WORDS);
            for (uint64_t key = 0; key < 5; key++)
                learn(w, key, 0);
            const uint64_t *old = TAKE_COPY(cf_fleet_at(&w->f, 3), WORDS);
            prepare(w, 1, 3, block);
            cf_fleet_put(&w->f, 1);
            uint64_t *r = cf_fleet_at(&w->f, 3);
            const uint64_t *new = TAKE_COPY(r, WORDS);
            memcpy(r + 1 + stored, old + 1 + stored,
                   (size_t)(WORDS - 1 - stored) * sizeof(uint64_t));
            r[CF_FLEET_SEQ] = new[CF_FLEET_SEQ] - 1;
            w->f.areas[AREA + STATE] = ACTIVE;
            CHECK_INT(find(w, 3, out), 3);
            CHECK_BITS(out, new, HEAD + 2 * BLOCK);
            CHECK_INT(cf_fleet_replay(&w->f), 1);
            CHECK_BITS(r, new, WORDS);
            CHECK_INT(w->f.areas[AREA + STATE], 0);
            CHECK_INT(cf_fleet_replay(&w->f), 0);
            release();
        }
}

/* An area that is not whole is dropped, wherever it is damaged. */
TEST(an_area_that_is_not_whole)
{
    for (int64_t word = 1; word < CF_FLEET_CONTROL + HEAD + BLOCK; word++) {
        if (word == CF_FLEET_CONTROL) /* the sequence in the area has no meaning */
            continue;
        CONTEXT("word %d", (int)word);
        world *w = take_world(1, 0);
        learn(w, 9, 0);
        learn(w, 9, 0);
        const uint64_t *now = TAKE_COPY(cf_fleet_at(&w->f, 0), WORDS);
        w->f.areas[STATE] = ACTIVE;
        w->f.areas[word] ^= 1;
        CHECK_INT(cf_fleet_replay(&w->f), 0);
        CHECK_BITS(cf_fleet_at(&w->f, 0), now, WORDS);
        CHECK_INT(w->f.areas[STATE], 0);
        release();
    }
}

/* Done twice it is as done once: new keys and deleted ones too. */
TEST(replayed_twice)
{
    for (int removes = 0; removes < 2; removes++) {
        world *w = take_world(1, 0);
        uint64_t *out = take_words(WORDS);
        for (uint64_t key = 0; key < 6; key++)
            learn(w, key, 0);
        uint64_t counts[COUNTED];
        uint64_t *index = TAKE_COPY(w->f.index, 2 * SLOTS);
        memcpy(counts, w->counts, sizeof counts);
        if (removes)
            forget(w, 2);
        else
            learn(w, 6, 0);
        const uint64_t *after = TAKE_COPY(w->f.index, 2 * SLOTS);
        memcpy(w->f.index, index, 2 * SLOTS * sizeof *index); /* as it was before */
        memcpy(w->counts, counts, sizeof counts);
        w->f.areas[STATE] = ACTIVE;
        CHECK_INT(cf_fleet_replay(&w->f), 1);
        CHECK_BITS(w->f.index, after, 2 * SLOTS);
        CHECK_INT(find(w, removes ? 2 : 6, out) >= 0, !removes);
        CHECK_INT(w->counts[CF_FLEET_LIVE], removes ? 5 : 7);
        CHECK_INT(w->counts[CF_FLEET_DELETED], removes);
        release();
    }
}

/* What is of an earlier epoch stays where it is until it is released. */
TEST(kept_records)
{
    world *w = take_world(2, 0);
    uint64_t *out = take_words(WORDS);
    w->f.epoch = 1;
    for (uint64_t key = 0; key < 6; key++)
        learn(w, key, 0);
    CHECK_INT(w->counts[CF_FLEET_RETIRED], 0);
    const uint64_t *old = TAKE_COPY(cf_fleet_at(&w->f, 3), WORDS);
    const uint64_t *gone = TAKE_COPY(cf_fleet_at(&w->f, 4), WORDS);
    w->f.epoch = 2;
    learn(w, 3, 1);
    learn(w, 3, 0); /* it is there by now */
    forget(w, 4);
    w->f.areas[STATE] = ACTIVE; /* done twice */
    CHECK_INT(cf_fleet_replay(&w->f), 1);
    CHECK_BITS(cf_fleet_at(&w->f, 3), old, WORDS);
    CHECK_BITS(cf_fleet_at(&w->f, 4), gone, WORDS);
    CHECK_INT(find(w, 3, out), 6);
    CHECK_INT(out[CF_FLEET_ROUNDS], 3);
    CHECK_INT(out[CF_FLEET_EPOCH], 2);
    CHECK_INT(find(w, 4, out), -1);
    CHECK_INT(w->counts[CF_FLEET_LIVE], 5);
    CHECK_INT(w->counts[CF_FLEET_RETIRED], 2);
    CHECK_INT(cf_fleet_retired(&w->f, 0, 2), 3);
    CHECK_INT(cf_fleet_retired(&w->f, 1, 2), 4);
    CHECK_INT(cf_fleet_retired(&w->f, 0, 1), -1);
    for (int turn = 0; turn < 2; turn++) /* the second time they are free already */
        for (int64_t i = 0; i < 2; i++)
            cf_fleet_release(&w->f, i);
    CHECK_INT(w->counts[CF_FLEET_NEXT_FREE], 5);
    cf_fleet_tally(&w->f, CF_FLEET_RETIRED, 0);
    learn(w, 7, 0);
    learn(w, 8, 0);
    CHECK_INT(find(w, 7, out), 4);
    CHECK_INT(find(w, 8, out), 3);
    CHECK_INT(w->counts[CF_FLEET_USED], 7);
    for (uint64_t key = 0; key < 9; key++)
        CHECK_INT(find(w, key, out) >= 0, key != 4 && key != 6);
}

TEST(another_generation_is_told)
{
    world *w = take_world(1, 0);
    uint64_t *out = take_words(WORDS);
    learn(w, 1, 0);
    w->generation = 1;
    CHECK_INT(find(w, 1, out), CF_FLEET_MOVED);
    w->f.known = 1;
    CHECK_INT(find(w, 1, out), 0);
    CHECK_INT(find(w, 2, out), -1);
}

/* A full index, all entries deleted: a search comes to an end. */
TEST(a_full_index)
{
    world *w = take_world(1, 0);
    uint64_t *out = take_words(WORDS), at = 0;
    for (int i = 0; i < 2 * SLOTS; i++)
        w->f.index[i] = DELETED;
    CHECK_INT(find(w, 5, out), -1);
    CHECK_INT(cf_fleet_find(&w->f, 5, NULL, &at), -1);
    CHECK_INT(cf_fleet_unsound(&w->f), 0);
    w->f.index[7] = ((uint64_t)SLOTS + 2) | cf_fleet_hash(5) << 40; /* a slot that is not there */
    CHECK_INT(find(w, 5, out), CF_FLEET_UNSOUND);
    CHECK_INT(cf_fleet_find(&w->f, 5, NULL, &at), CF_FLEET_UNSOUND);
    CHECK_INT(cf_fleet_unsound(&w->f), 1);
}

/* --- what stands half stored --- */

/* How many models a reader lists, finds by key and counts. */
static void check_agreement(const world *w, int keys)
{
    uint64_t *out = take_words(WORDS), *counts = take_words(COUNTED);
    int listed = 0, found = 0;
    CHECK_INT(cf_fleet_counts(&w->f, counts), 1);
    for (int64_t slot = 0; slot < (int64_t)counts[CF_FLEET_USED]; slot++)
        listed += cf_fleet_copy(&w->f, slot, out) &&
                  find(w, out[CF_FLEET_KEY], out) == slot; /* or it is kept only */
    for (int key = 0; key < keys; key++)
        found += find(w, (uint64_t)key, out) >= 0;
    CHECK_INT(listed, counts[CF_FLEET_LIVE]);
    CHECK_INT(found, counts[CF_FLEET_LIVE]);
}

/* A key that comes, or goes, is there or not, for all that a reader can ask, wherever its store was
 * cut off; with and without a slot that was used before, and records that are kept. */
TEST(a_change_is_of_one_moment)
{
    for (int removes = 0; removes < 2; removes++)
        for (int kind = 0; kind < 3; kind++) {
            world *w = take_world(1, 0);
            w->f.epoch = kind == 2 ? 1 : 0;
            for (uint64_t key = 0; key < 6; key++)
                learn(w, key, 0);
            if (kind == 1)
                forget(w, 4);
            if (kind == 2)
                w->f.epoch = 2;
            const cf_fleet f = w->f;
            const uint64_t *index = TAKE_COPY(f.index, 2 * SLOTS);
            const uint64_t *counts = TAKE_COPY(w->counts, COUNTED);
            const uint64_t *low = TAKE_COPY(f.segment[0].base, 10 * WORDS);
            if (removes)
                forget(w, 2);
            else
                learn(w, 6, 0);
            const uint64_t *now = TAKE_COPY(f.index, 2 * SLOTS);
            const uint64_t *counted = TAKE_COPY(w->counts, COUNTED);
            const uint64_t *stored = TAKE_COPY(f.segment[0].base, 10 * WORDS);
            const int64_t slot = (int64_t)f.areas[2];
            const int same = memcmp(low, stored, 10 * WORDS * sizeof(uint64_t)) == 0;
            CHECK_INT(same, removes && kind == 2);
            for (int stage = 0; stage <= 3 + COUNTED; stage++) {
                CONTEXT("removes %d, kind %d, stage %d", removes, kind, stage);
                f.areas[STATE] = ACTIVE;
                memcpy(f.segment[0].base, stage < 2 ? low : stored, 10 * WORDS * sizeof *low);
                if (stage == 1 && !same) /* the record is half there */
                    f.segment[0].base[slot * WORDS] = stored[slot * WORDS] - 1;
                memcpy(f.index, stage < 3 ? index : now, 2 * SLOTS * sizeof *index);
                for (int i = 0; i < COUNTED; i++)
                    w->counts[i] = stage > 3 + i ? counted[i] : counts[i];
                check_agreement(w, 7);
            }
            CHECK_INT(cf_fleet_replay(&w->f), 1);
            check_agreement(w, 7);
            release();
        }
}

/* --- turned bits --- */

/* The models of a world: each number is that of its key. */
static void check_models(world *w, int64_t damaged)
{
    uint64_t *out = take_words(WORDS), at = 0;
    for (uint64_t key = 0; key < 9; key++) {
        const int64_t slot = find(w, key, out);
        const char *text = w->f.text ? take_text(key) : NULL;
        const int64_t mine =
            cf_fleet_find(&w->f, text ? cf_fleet_text_hash(text) : key, text, &at);
        CHECK_INT(mine, slot);
        if (slot == CF_FLEET_UNSOUND)
            continue;
        CHECK_INT(slot >= 0, key < 8);
        if (slot >= 0 && cf_fleet_whole(&w->f, out))
            CHECK_INT(out[w->f.head + 2], key + 1);
        else if (slot >= 0)
            CHECK_INT(slot, damaged);
    }
}

TEST(every_bit_of_the_index)
{
    for (int as_text = 0; as_text < 2; as_text++) {
        world *w = take_world(1, as_text);
        for (uint64_t key = 0; key < 9; key++)
            learn(w, key, 0);
        forget(w, 8);
        const uint64_t *index = TAKE_COPY(w->f.index, 2 * SLOTS);
        for (int i = 0; i < 2 * SLOTS; i++)
            for (int bit = 0; bit < 64; bit++) {
                CONTEXT("entry %d, bit %d", i, bit);
                w->f.index[i] ^= (uint64_t)1 << bit;
                CHECK_INT(cf_fleet_unsound(&w->f), 1);
                check_models(w, -1);
                uint8_t *named = take_bytes(SLOTS / 8 + 1, 0, 1);
                memset(named, 0, SLOTS / 8 + 1);
                CHECK_INT(cf_fleet_recount(&w->f, named), 0);
                CHECK_INT(cf_fleet_fill(&w->f, w->f.index, 2 * SLOTS, 9, NULL), -1);
                CHECK_INT(cf_fleet_unsound(&w->f), 0);
                check_models(w, -1);
                memcpy(w->f.index, index, 2 * SLOTS * sizeof *index);
            }
        release();
    }
}

TEST(every_bit_of_a_record)
{
    for (int as_text = 0; as_text < 2; as_text++) {
        world *w = take_world(2, as_text);
        uint64_t *out = take_words(WORDS), *other = take_words(2 * SLOTS);
        for (uint64_t key = 0; key < 8; key++)
            learn(w, key, 0);
        const uint64_t *before = TAKE_COPY(cf_fleet_at(&w->f, 3), WORDS);
        for (int64_t i = 0; i < w->f.head + 2 * BLOCK; i++)
            for (int bit = 0; bit < 64; bit++) {
                CONTEXT("word %d, bit %d", (int)i, bit);
                uint64_t *r = cf_fleet_at(&w->f, 3);
                r[i] ^= (uint64_t)1 << bit;
                check_models(w, 3);
                CHECK_INT(cf_fleet_copy(&w->f, 3, out), 1);
                CHECK_INT(cf_fleet_whole(&w->f, out), i == CF_FLEET_SEQ && bit > 0);
                CHECK_INT(cf_fleet_mend(&w->f, out), 1);
                CHECK_BITS(out + 1, before + 1, w->f.head - 1);
                CHECK_INT(cf_fleet_fill(&w->f, other, 2 * SLOTS, 8, NULL), -1);
                CHECK_BITS(other, w->f.index, 2 * SLOTS);
                r[i] ^= (uint64_t)1 << bit;
            }
        cf_fleet_at(&w->f, 3)[CF_FLEET_KEY] ^= 5; /* two bits are too many */
        memcpy(out, cf_fleet_at(&w->f, 3), WORDS * sizeof *out);
        CHECK_INT(cf_fleet_mend(&w->f, out), 0);
        CHECK_INT(cf_fleet_fill(&w->f, other, 2 * SLOTS, 8, NULL), 3);
        release();
    }
}

/* Counts that are wrong are found, and made anew with the free slots. */
TEST(every_bit_of_the_counts)
{
    world *w = take_world(1, 0);
    uint64_t *out = take_words(COUNTED);
    for (uint64_t key = 0; key < 11; key++)
        learn(w, key, 0);
    w->f.epoch = 1; /* what is there is of before */
    forget(w, 9);
    learn(w, 2, 0);
    learn(w, 11, 0);
    forget(w, 11);
    forget(w, 8);
    const uint64_t *counts = TAKE_COPY(w->counts, COUNTED);
    for (int i = 0; i < COUNTED; i++)
        for (int bit = 0; bit < 64; bit++) {
            CONTEXT("count %d, bit %d", i, bit);
            w->counts[i] ^= (uint64_t)1 << bit;
            CHECK_INT(cf_fleet_counts(&w->f, out), 0);
            uint8_t *named = take_bytes(SLOTS / 8 + 1, 0, 1);
            memset(named, 0, SLOTS / 8 + 1);
            CHECK_INT(cf_fleet_recount(&w->f, named), 1);
            CHECK_INT(cf_fleet_counts(&w->f, out), 1);
            CHECK_BITS(out, counts, COUNTED);
        }
    uint64_t *r = cf_fleet_at(&w->f, (int64_t)w->counts[CF_FLEET_NEXT_FREE] - 1);
    for (int i = CF_FLEET_SUM; i < HEAD; i++) /* a free slot that is none is not taken */
        for (int bit = 0; bit < 64; bit++) {
            r[i] ^= (uint64_t)1 << bit;
            CHECK(cf_fleet_create(&w->f, 0, 50, NULL, 0) == NULL);
            CHECK(cf_fleet_move(&w->f, 0, 1, 0) == NULL);
            r[i] ^= (uint64_t)1 << bit;
        }
    w->f.retired[0] ^= 4; /* the list is damaged */
    CHECK_INT(cf_fleet_retired(&w->f, 0, 1), CF_FLEET_UNSOUND);
    cf_fleet_release(&w->f, 0);
    CHECK_BITS(w->counts, counts, COUNTED);
}

/* Areas that tell of places which are not there are not stored. */
TEST(areas_beyond_the_file)
{
    for (int word = 2; word < CF_FLEET_CONTROL; word++)
        for (int bit = 0; bit < 64; bit++) {
            world *w = take_world(1, 0);
            learn(w, 1, 0);
            learn(w, 1, 0);
            uint64_t *area = w->f.areas;
            area[STATE] = ACTIVE;
            area[word] ^= (uint64_t)1 << bit;
            area[1] = cf_fleet_sum(area + 2, CF_FLEET_CONTROL - 2);
            cf_fleet_replay(&w->f); /* at most another slot of these; the sanitizer would object */
            release();
        }
}

TEST(sums_see_every_word_and_its_place)
{
    FOR_SIZES(n, 1, 40) {
        uint64_t *words = take_words(n);
        for (ptrdiff_t i = 0; i < n; i++)
            words[i] = random_bits();
        const uint64_t sum = cf_fleet_sum(words, n);
        for (ptrdiff_t i = 0; i < n; i++)
            for (int bit = 0; bit < 64; bit += 9) {
                words[i] ^= (uint64_t)1 << bit;
                CHECK(cf_fleet_sum(words, n) != sum);
                words[i] ^= (uint64_t)1 << bit;
            }
        for (ptrdiff_t i = 1; i < n; i++) {
            const uint64_t first = words[0];
            words[0] = words[i], words[i] = first;
            CHECK(cf_fleet_sum(words, n) != sum);
            words[i] = words[0], words[0] = first;
        }
        memset(words, 0, (size_t)n * sizeof *words);
        CHECK(cf_fleet_sum(words, n) != 0 && cf_fleet_sum(words, n) != cf_fleet_sum(words, n - 1));
        release();
    }
}

CHECK_MAIN
