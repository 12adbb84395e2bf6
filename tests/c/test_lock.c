/* The lock of an object: who may enter, in which order, and what a fork leaves. Run by threads, also
 * under ThreadSanitizer (make threads): what the lock protects here is plain memory. */
#define CF_LOCK_IMPLEMENTATION
#define CF_LOCK_THREAD() ((uintptr_t)pthread_self())
#include "cf_check.h"
#include <pthread.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "coactive_fast/cf_lock.h"

/* --- a bell of threads ------------------------------------------------------------------------- */

typedef struct bell {
    pthread_mutex_t mutex;
    pthread_cond_t rung;
    int count;
} bell;

static void bell_wake(void *at)
{
    bell *b = at;
    pthread_mutex_lock(&b->mutex);
    b->count++;
    pthread_cond_signal(&b->rung);
    pthread_mutex_unlock(&b->mutex);
}

/* Sleeps until it is rung, or (patience) for so many microseconds: then a signal came. */
static void bell_wait(bell *b, long patience)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += patience * 1000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&b->mutex);
    while (b->count == 0)
        if (patience == 0)
            pthread_cond_wait(&b->rung, &b->mutex);
        else if (pthread_cond_timedwait(&b->rung, &b->mutex, &until) != 0)
            break;
    b->count = 0;
    pthread_mutex_unlock(&b->mutex);
}

/* As the Python class does it: CF_LOCK_ENTERED, or why not. */
static enum cf_lock_answer enter(cf_lock *l, int shared, long patience)
{
    bell own = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0};
    cf_waiter node = {.bell = &own, .wake = bell_wake, .thread = CF_LOCK_THREAD(), .shared = shared};
    enum cf_lock_answer answer = CF_LOCK_ENTERED;
    if (!(shared ? cf_lock_try_shared(l) : cf_lock_try(l)))
        answer = cf_lock_try_slow(l, shared);
    while (answer == CF_LOCK_WAIT) {
        cf_lock_queue(l, &node);
        bell_wait(&own, patience);
        if (cf_lock_leave_queue(l, &node))
            answer = CF_LOCK_ENTERED;
    }
    if (answer == CF_LOCK_ENTERED && shared)
        cf_lock_note_shared(l);
    return answer;
}

static void leave(cf_lock *l, int shared)
{
    if (shared)
        cf_lock_release_shared(l);
    else if (!cf_lock_release(l))
        cf_lock_release_slow(l);
}

static void rest(long microseconds)
{
    struct timespec t = {0, microseconds * 1000};
    nanosleep(&t, NULL);
}

/* Waits until so many threads are in the queue. */
static void await_queue(cf_lock *l, int wanted)
{
    for (int found = -1; found != wanted; rest(100)) {
        found = 0;
        cf_lock_spin(&l->inner);
        for (cf_waiter *node = l->first; node != NULL; node = node->next)
            found++;
        cf_lock_unspin(&l->inner);
    }
}

/* --- readers and writers ----------------------------------------------------------------------- */

typedef struct crowd {
    cf_lock lock;
    long a, b; /* equal while nobody changes them */
    int rounds, patience;
    atomic_int torn, refused, served; /* `served`: threads that have done all their rounds */
} crowd;

static void *change(void *at)
{
    crowd *c = at;
    for (int t = 0; t < c->rounds; t++) {
        if (enter(&c->lock, 0, c->patience) != CF_LOCK_ENTERED)
            c->refused++;
        c->a++;
        if (t % 16 == 0)
            rest(1);
        c->b++;
        leave(&c->lock, 0);
    }
    c->served++;
    return NULL;
}

static void *read_only(void *at)
{
    crowd *c = at;
    for (int t = 0; t < c->rounds; t++) {
        if (enter(&c->lock, 1, c->patience) != CF_LOCK_ENTERED)
            c->refused++;
        if (t % 8 == 0) { /* a reading within a reading does not queue behind a writer */
            if (enter(&c->lock, 1, c->patience) != CF_LOCK_ENTERED)
                c->refused++;
            leave(&c->lock, 1);
        }
        c->torn += c->a != c->b;
        leave(&c->lock, 1);
    }
    c->served++;
    return NULL;
}

static void run_crowd(int patience)
{
    enum { THREADS = 6 };
    pthread_t threads[THREADS];
    crowd *c = calloc(1, sizeof *c);
    c->rounds = getenv("CF_TEST_QUICK") ? 200 : 3000;
    c->patience = patience;
    cf_lock_register(&c->lock);
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, i % 2 ? read_only : change, c);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(c->a, THREADS / 2 * c->rounds);
    CHECK_INT(c->b, c->a);
    CHECK_INT(c->torn, 0);
    CHECK_INT(c->refused, 0);
    CHECK_INT(c->served, THREADS);
    CHECK_INT(c->lock.word, CF_LOCK_FREE);
    CHECK(c->lock.first == NULL);
    cf_lock_unregister(&c->lock);
    free(c);
}

TEST(no_change_is_lost_and_no_reading_sees_half_of_one) { run_crowd(0); }

TEST(signals_that_wake_those_who_wait_lose_nothing) { run_crowd(30); }

typedef struct relay {
    cf_lock lock;
    long value;
    atomic_int turn; /* relaxed: it orders nothing */
} relay;

static void *pass_on(void *at)
{
    relay *r = at;
    for (int t = 1; t < 100; t += 2) {
        while (atomic_load_explicit(&r->turn, memory_order_relaxed) != t)
            rest(10);
        if (cf_lock_try(&r->lock)) {
            r->value++;
            (void)cf_lock_release(&r->lock);
        }
        atomic_store_explicit(&r->turn, t + 1, memory_order_relaxed);
    }
    return NULL;
}

TEST(without_a_queue_too_a_release_publishes_what_was_changed)
{
    pthread_t thread;
    relay *r = calloc(1, sizeof *r);
    pthread_create(&thread, NULL, pass_on, r);
    for (int t = 0; t < 100; t += 2) {
        while (atomic_load_explicit(&r->turn, memory_order_relaxed) != t)
            rest(10);
        if (t % 4 == 0) {
            CHECK(cf_lock_try_shared(&r->lock));
            cf_lock_note_shared(&r->lock);
            CHECK_INT(r->value, t);
            cf_lock_release_shared(&r->lock);
        }
        CHECK(cf_lock_try(&r->lock));
        r->value++;
        CHECK(cf_lock_release(&r->lock));
        atomic_store_explicit(&r->turn, t + 1, memory_order_relaxed);
    }
    pthread_join(thread, NULL);
    CHECK_INT(r->value, 100);
    free(r);
}

/* --- the queue --------------------------------------------------------------------------------- */

typedef struct guest {
    cf_lock *lock;
    int shared, number;
    int *order; /* of the guests that have entered */
    atomic_int *entered, *inside, *most;
} guest;

static void *visit(void *at)
{
    guest *g = at;
    int now;
    enter(g->lock, g->shared, g->number % 2 ? 50 : 0);
    now = ++*g->inside;
    for (int most = *g->most; now > most && !atomic_compare_exchange_weak(g->most, &most, now);)
        ;
    g->order[(*g->entered)++] = g->number;
    if (g->shared)
        for (int i = 0; i < 2000 && *g->most < 3; i++)
            rest(100); /* the others are admitted too */
    --*g->inside;
    leave(g->lock, g->shared);
    return NULL;
}

/* Guests that queue one after another while the caller has the lock. */
static void queue_up(int guests, const int *shared, int *order, int *most)
{
    pthread_t threads[8];
    guest all[8];
    cf_lock *l = calloc(1, sizeof *l);
    atomic_int entered = 0, inside = 0, largest = 0;
    CHECK_INT(enter(l, 0, 0), CF_LOCK_ENTERED);
    for (int i = 0; i < guests; i++) {
        all[i] = (guest){l, shared[i], i, order, &entered, &inside, &largest};
        pthread_create(&threads[i], NULL, visit, &all[i]);
        if (all[i].number % 2) /* it leaves the queue for moments, with its ticket */
            rest(2000);
        else
            await_queue(l, i + 1);
    }
    leave(l, 0);
    for (int i = 0; i < guests; i++)
        pthread_join(threads[i], NULL);
    CHECK_INT(l->word, CF_LOCK_FREE);
    *most = largest;
    free(l);
}

TEST(first_come_first_served)
{
    int order[8], most;
    const int shared[] = {0, 0, 0, 0, 0};
    queue_up(1, shared, order, &most);
    CHECK_INT(order[0], 0);
    queue_up(5, shared, order, &most);
    CHECK_INT(most, 1);
    for (int i = 0; i < 5; i += 2) /* those that stay in the queue keep their order */
        for (int j = 0; j < 5; j++)
            if (order[j] == i)
                for (int k = j + 1; k < 5; k++)
                    CHECK(order[k] > i || order[k] % 2);
}

TEST(readers_that_wait_are_admitted_together)
{
    int order[8], most;
    const int shared[] = {1, 1, 1};
    queue_up(3, shared, order, &most);
    CHECK_INT(most, 3);
}

/* --- one thread -------------------------------------------------------------------------------- */

TEST(a_thread_does_not_wait_for_itself)
{
    cf_lock l = {0};
    CHECK_INT(enter(&l, 0, 0), CF_LOCK_ENTERED);
    CHECK_INT(enter(&l, 0, 0), CF_LOCK_IN_CHANGE);
    CHECK_INT(enter(&l, 1, 0), CF_LOCK_IN_CHANGE);
    leave(&l, 0);
    CHECK_INT(enter(&l, 1, 0), CF_LOCK_ENTERED);
    CHECK_INT(enter(&l, 0, 0), CF_LOCK_IN_READ);
    CHECK_INT(enter(&l, 1, 0), CF_LOCK_ENTERED);
    leave(&l, 1);
    CHECK_INT(enter(&l, 0, 0), CF_LOCK_IN_READ);
    leave(&l, 1);
    CHECK_INT(l.word, CF_LOCK_FREE);
    for (int i = 0; i < CF_LOCK_READS; i++) {
        CHECK(!cf_reads_full());
        CHECK_INT(enter(&l, 1, 0), CF_LOCK_ENTERED);
    }
    CHECK(cf_reads_full());
    for (int i = 0; i < CF_LOCK_READS; i++)
        leave(&l, 1);
    CHECK_INT(enter(&l, 0, 0), CF_LOCK_ENTERED);
    leave(&l, 0);
}

TEST(a_closed_object_refuses_everybody)
{
    cf_lock l = {0};
    cf_lock_close(&l, 1);
    CHECK_INT(enter(&l, 0, 0), CF_LOCK_CLOSED);
    CHECK_INT(enter(&l, 1, 0), CF_LOCK_CLOSED);
    cf_lock_close(&l, 0);
    CHECK_INT(enter(&l, 0, 0), CF_LOCK_ENTERED);
    leave(&l, 0);
}

TEST(a_flag_has_one_owner)
{
    atomic_int flag = 0;
    CHECK(cf_flag_set(&flag));
    CHECK(!cf_flag_set(&flag));
    cf_flag_clear(&flag);
    CHECK(cf_flag_set(&flag));
}

/* --- a fork ------------------------------------------------------------------------------------ */

typedef struct other {
    cf_lock *lock;
    int shared;
    atomic_int there, go;
} other;

static void *stay(void *at)
{
    other *o = at;
    enter(o->lock, o->shared, 0);
    o->there = 1;
    while (!o->go)
        rest(100);
    leave(o->lock, o->shared);
    return NULL;
}

/* What a child is answered that wants the object alone; another thread has it when it forks, or the
 * caller itself (shared < 0: reads). */
static int answer_in_child(int shared, int own)
{
    cf_lock l = {0};
    other o = {.lock = &l, .shared = shared};
    pthread_t thread;
    int status = -1;
    pid_t child;
    cf_lock_register(&l);
    if (own)
        enter(&l, shared, 0);
    else {
        pthread_create(&thread, NULL, stay, &o);
        while (!o.there)
            rest(100);
    }
    child = fork();
    if (child == 0) {
        cf_locks_forked();
        if (own && !shared)
            leave(&l, 0);
        _exit((int)enter(&l, 0, 0));
    }
    waitpid(child, &status, 0);
    if (own)
        leave(&l, shared);
    else {
        o.go = 1;
        pthread_join(thread, NULL);
    }
    CHECK_INT(l.word, CF_LOCK_FREE);
    cf_lock_unregister(&l);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(a_fork_forgets_the_other_threads)
{
    CHECK_INT(answer_in_child(0, 0), CF_LOCK_CLOSED); /* half of a change may be in memory */
    CHECK_INT(answer_in_child(1, 0), CF_LOCK_ENTERED);
    CHECK_INT(answer_in_child(0, 1), CF_LOCK_ENTERED);
    CHECK_INT(answer_in_child(1, 1), CF_LOCK_IN_READ);
}

TEST(all_locks_are_in_the_list)
{
    cf_lock l[3] = {{0}, {0}, {0}};
    for (int i = 0; i < 3; i++)
        cf_lock_register(&l[i]);
    cf_lock_unregister(&l[1]);
    CHECK(cf_locks == &l[2] && l[2].after == &l[0] && l[0].before == &l[2]);
    cf_lock_unregister(&l[2]);
    cf_lock_unregister(&l[0]);
    CHECK(cf_locks == NULL);
}

CHECK_MAIN
