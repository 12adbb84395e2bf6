/* The records of a fleet in memory of its own: keys that come and go, and changes cut short. */
#include "cf_reference.h"

#include "coactive_fast/cf_fleet.h"

enum { HEAD = 5, BLOCK = 7, WORDS = 32, SLOTS = 40, AREAS = 2 };
enum { STATE = 0, AREA = CF_FLEET_CONTROL + WORDS };

typedef struct world {
    cf_fleet f;
    uint64_t counts[5], generation, *fresh;
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
                memset(w->f.index, 0, 2 * SLOTS * sizeof(uint64_t));
                for (int64_t slot = 0; slot < (int64_t)w->counts[CF_FLEET_USED]; slot++)
                    if ((int64_t)cf_fleet_at(&w->f, slot)[CF_FLEET_ROUNDS] != CF_FLEET_FREE)
                        cf_fleet_enter(&w->f, w->f.index, 2 * SLOTS, slot);
                w->counts[CF_FLEET_DELETED] = 0;
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
            w->f.areas[AREA + STATE] = 1;
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
        w->f.areas[STATE] = 1;
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
        uint64_t counts[5];
        uint64_t *index = TAKE_COPY(w->f.index, 2 * SLOTS);
        memcpy(counts, w->counts, sizeof counts);
        if (removes)
            forget(w, 2);
        else
            learn(w, 6, 0);
        const uint64_t *after = TAKE_COPY(w->f.index, 2 * SLOTS);
        memcpy(w->f.index, index, 2 * SLOTS * sizeof *index); /* as it was before */
        memcpy(w->counts, counts, sizeof counts);
        w->f.areas[STATE] = 1;
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
    w->f.areas[STATE] = 1; /* done twice */
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
    w->counts[CF_FLEET_RETIRED] = 0;
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
        w->f.index[i] = 1;
    CHECK_INT(find(w, 5, out), -1);
    CHECK_INT(cf_fleet_find(&w->f, 5, NULL, &at), -1);
    w->f.index[7] = ((uint64_t)SLOTS + 2) | cf_fleet_hash(5) << 40; /* a slot that is not there */
    CHECK_INT(find(w, 5, out), -1);
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
