/* Very many small models in one mapped file: the index of keys, records that a kill cannot tear.
 *
 * Everything here works on memory that the caller has mapped and whose room is reserved; nothing is
 * allocated, no system call is made. All is words of eight bytes.
 *
 * A record is a head (SEQ, SUM, KEY, ROUNDS, EPOCH, then words of the kind, then `text` words of the
 * key where keys are text) and k blocks (SUM, LEARNED, then the numbers). SUM is the checksum of
 * what follows it in its part. ROUNDS = CF_FLEET_FREE: no model, KEY is the next free slot + 1.
 *
 * The index is a table of `entries` words, open addressing: 0 empty, else from the low bits upwards
 * slot + 2 (32 bits; 1: deleted), a byte that makes the XOR of all eight bytes 0, and as a tag 24
 * bits of the hash. An entry is a hint: the record says whose it is.
 *
 * One process writes. What is to be stored is built in an area of its own (cf_fleet_take), then
 * cf_fleet_put stores it: area STATE <- all bits 1, record SEQ odd, copy, SEQ even, index and
 * counts, STATE <- 0. Whatever a process had stored when it was killed is in the page cache in the
 * order of the program, so cf_fleet_replay can finish what was begun; an area that was not complete
 * has not touched its record. Other processes read with cf_fleet_get: a copy between two equal even
 * SEQ, or, where the writer is dead, what stands in its area. Several threads of the writer may put
 * at the same time, each by its own area, records that are there already and not the same.
 *
 * A turned bit, wherever it is, makes no other answer: it is found by a checksum (records, areas,
 * counts) or the byte of an entry, and the answer is then CF_FLEET_UNSOUND, or a record that is not
 * whole. An odd SEQ for which there is no area belongs to such a record; nobody waits for it.
 *
 * Kept epochs (epoch > 0). What was flushed must be found again after the machine has stopped, which
 * may have written any page meanwhile. So a record of an earlier epoch is never changed: who learns
 * is moved to another slot first (cf_fleet_move), and who is deleted leaves its record where it is.
 * Such slots are listed in `retired`, as entries with the epoch for a tag, until the next flush;
 * then they are free. Records of the present epoch are changed in place.
 */
#pragma once
#include <stddef.h>
#include <stdint.h>

#define CF_FLEET_SEGMENTS 48
#define CF_FLEET_TEXT 64         /* bytes of a key: its length, then at most 63 of UTF-8 */
#define CF_FLEET_FREE -1         /* ROUNDS of a record that is no model */
#define CF_FLEET_ALL -1          /* instead of the number of a block */
#define CF_FLEET_HEAD -2         /* the head alone */
#define CF_FLEET_NOTHING -4      /* no part of the record */
#define CF_FLEET_MOVED -3        /* instead of a slot: the layout is another one by now */
#define CF_FLEET_UNSOUND -5      /* instead of a slot: what leads to it is damaged */
#define CF_FLEET_CONTROL 16      /* words of an area before the record in it */

typedef struct cf_fleet_segment {
    int64_t start, end; /* slots start ... end - 1 */
    uint64_t *base;
} cf_fleet_segment;

typedef struct cf_fleet {
    uint64_t *index;
    uint64_t entries;           /* less than 2^32 */
    int64_t capacity;           /* slots; less than `entries` */
    int64_t segments;
    int64_t head, block, k, record; /* words; record: of a slot, with what fills it up */
    int64_t text;               /* words, 0 or CF_FLEET_TEXT / 8 */
    uint64_t *counts;           /* in the file: cf_fleet_count */
    uint64_t epoch;             /* the present one, or 0: nothing is kept */
    uint64_t *retired;          /* in the file: as many slots as there are */
    const uint64_t *generation; /* in the file: raised when the layout changes */
    uint64_t known;             /* what it was when this struct was made */
    uint64_t *areas;
    int64_t area, n_areas;      /* words of one; how many */
    const uint64_t *fresh;      /* head and blocks of a model that nobody has fed */
    cf_fleet_segment segment[CF_FLEET_SEGMENTS];
} cf_fleet;

typedef enum cf_fleet_count {
    CF_FLEET_USED,      /* slots that were ever used */
    CF_FLEET_NEXT_FREE, /* the first free slot + 1, or 0 */
    CF_FLEET_LIVE,      /* models */
    CF_FLEET_DELETED,   /* deleted entries of the index */
    CF_FLEET_RETIRED,   /* slots listed as retired */
    CF_FLEET_CHECK      /* the checksum of these; 0 where all are 0 */
} cf_fleet_count;
typedef enum cf_fleet_word {
    CF_FLEET_SEQ, CF_FLEET_SUM, CF_FLEET_KEY, CF_FLEET_ROUNDS, CF_FLEET_EPOCH, CF_FLEET_EXTRA
} cf_fleet_word;
typedef enum cf_fleet_block_word {
    CF_FLEET_BLOCK_SUM, CF_FLEET_LEARNED, CF_FLEET_NUMBERS
} cf_fleet_block_word;

/* The checksum of n words: the same on every machine of this byte order. */
uint64_t cf_fleet_sum(const uint64_t *words, int64_t n);
/* The hash of a whole number, and of a key's CF_FLEET_TEXT bytes, which stands in KEY then. */
uint64_t cf_fleet_hash(uint64_t key);
uint64_t cf_fleet_text_hash(const char *text);

/* The record of a slot. */
static inline uint64_t *cf_fleet_at(const cf_fleet *self, int64_t slot)
{
    const cf_fleet_segment *s = self->segment;
    while (slot >= s->end)
        s++;
    return s->base + (slot - s->start) * self->record;
}

/* Memory that will soon be read: the first place in the index; the record that it names. */
void cf_fleet_expect(const cf_fleet *self, uint64_t hash);
void cf_fleet_fetch(const cf_fleet *self, uint64_t hash);

/* The slot of a key, -1 or CF_FLEET_UNSOUND. For the writer: *at is where its entry is or, if there
 * is none, where one can be put. A record that is not whole may be that of another key, in one of
 * 2^24 cases. text is NULL where keys are numbers. */
int64_t cf_fleet_find(const cf_fleet *self, uint64_t key, const char *text, uint64_t *at);
/* Whether a new key finds a slot; whether the index has an entry for it. */
int cf_fleet_has_slot(const cf_fleet *self);
int cf_fleet_has_entry(const cf_fleet *self);

/* Any process: the record of a key as a whole into `out` (record words). Its slot, -1,
 * CF_FLEET_UNSOUND, or CF_FLEET_MOVED: what was read is of no use, the caller has to map the file
 * anew. Whether it is undamaged says cf_fleet_whole. */
int64_t cf_fleet_get(const cf_fleet *self, uint64_t key, const char *text, uint64_t *out);
/* The same of a slot; 0 where it holds no model. */
int cf_fleet_copy(const cf_fleet *self, int64_t slot, uint64_t *out);
/* Any process: the counts of one moment, with their checksum. 1, 0 where they are damaged, or
 * CF_FLEET_MOVED. */
int cf_fleet_counts(const cf_fleet *self, uint64_t *out);

/* Makes an area ready for a change of this slot: its head and a block (or CF_FLEET_ALL,
 * CF_FLEET_HEAD) are copied into it. Returns the record in the area; its blocks stand in their
 * places. */
uint64_t *cf_fleet_take(const cf_fleet *self, int64_t area, int64_t slot, int64_t block);
/* The same for a key that is not there: a copy of `fresh`, with all blocks. NULL where the free
 * slot that it would have is damaged. */
uint64_t *cf_fleet_create(const cf_fleet *self, int64_t area, uint64_t key, const char *text,
                          uint64_t at);
/* Whether a record has to be moved before it is changed, and the same for it: a copy of all of it,
 * with its entry, at `at`, for another slot; or NULL likewise. */
int cf_fleet_is_kept(const cf_fleet *self, int64_t slot);
uint64_t *cf_fleet_move(const cf_fleet *self, int64_t area, int64_t slot, uint64_t at);
/* Stores what stands in the area. */
void cf_fleet_put(const cf_fleet *self, int64_t area);
/* Frees the record of a slot whose entry is at `at`; one that is kept is retired. */
void cf_fleet_remove(const cf_fleet *self, int64_t slot, uint64_t at);
/* Another value of one count. */
void cf_fleet_tally(const cf_fleet *self, int which, uint64_t value);
/* After a kill: finishes what was begun. How many areas had something to finish. */
int64_t cf_fleet_replay(const cf_fleet *self);

/* The slot that is number i of those retired in an epoch, -1 where it is not of that one, or
 * CF_FLEET_UNSOUND. */
int64_t cf_fleet_retired(const cf_fleet *self, int64_t i, uint64_t epoch);
/* After a flush: the slot that is number i of the retired ones is a free one, if it was not yet. The
 * list stays as it is: who calls ends it when that is on the disc. */
void cf_fleet_release(const cf_fleet *self, int64_t i);

/* Whether all checksums of a copied record are right. */
int cf_fleet_whole(const cf_fleet *self, const uint64_t *record);
/* For the writer: the same of the record of a slot, which is looked at the first time only. `seen`
 * has a bit a slot, of those found whole since the file was opened; threads may share it. */
int cf_fleet_seen_whole(const cf_fleet *self, uint8_t *seen, int64_t slot);
/* Enters a slot whose record is there into an index that is all zero but for such entries. */
void cf_fleet_enter(const cf_fleet *self, uint64_t *index, uint64_t entries, int64_t slot);

/* --- damage, for the writer but for the first one --- */

/* How many entries of the index are damaged. */
int64_t cf_fleet_unsound(const cf_fleet *self);
/* Turns back the one bit of the head of a copied record that was turned; 0 where there is no such
 * bit, and the checksum is wrong. */
int cf_fleet_mend(const cf_fleet *self, uint64_t *record);
/* An index of all models among the slots before `used`, but for those that have a bit in `listed`
 * (NULL: none), in the place of what `index` holds. -1, or a slot that has a model whose key cannot
 * be made out. The first area is used for scratch. */
int64_t cf_fleet_fill(const cf_fleet *self, uint64_t *index, uint64_t entries, int64_t used,
                      const uint8_t *listed);
/* Counts and free slots anew, from the index and the list of what is retired. 0 where these do not
 * fit the records; then nothing was changed. `named` has a bit a slot, all zero. */
int cf_fleet_recount(const cf_fleet *self, uint8_t *named);
