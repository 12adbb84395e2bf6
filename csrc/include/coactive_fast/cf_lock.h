/* The lock of one object: one thread changes it, or several threads read it.
 *
 * `word` is CF_LOCK_ALONE while one thread has the object alone, CF_LOCK_READER times the number of
 * its readers otherwise, plus CF_LOCK_QUEUED while a thread waits. While no thread waits, acquiring
 * and releasing are one compare-and-swap of the word. All other cases are the slow functions, which
 * hold `inner`, a spin lock, for some nanoseconds; while CF_LOCK_QUEUED is set, only the holder of
 * `inner` writes the word. A release admits waiting threads in the order in which they came.
 *
 * Cost: some ten nanoseconds without contention. A waiting thread sleeps on a bell of its own: any
 * binary semaphore, which `wake` releases. Ownership: the caller owns locks, waiters and bells.
 *
 * A thread that would wait for itself is refused. It is recognised by `owner`, and where it reads by
 * a list of the locks that it reads, which is local to the thread. That list, and all that needs it,
 * belongs to the one unit that defines CF_LOCK_IMPLEMENTATION. */
#ifndef CF_LOCK_H
#define CF_LOCK_H

#include <stdatomic.h>
#include <stdint.h>

#define CF_LOCK_FREE 0
#define CF_LOCK_ALONE 1
#define CF_LOCK_QUEUED 2
#define CF_LOCK_READER 4

typedef struct cf_waiter {
    struct cf_waiter *next;
    void *bell;
    void (*wake)(void *bell);
    uint64_t ticket; /* 0 before the waiter was queued for the first time */
    uintptr_t thread;
    int shared;
    int admitted; /* read and written with `inner` held */
} cf_waiter;

typedef struct cf_lock {
    atomic_int word;
    atomic_flag inner;
    atomic_uintptr_t owner; /* of CF_LOCK_ALONE; 0 for a moment at its beginning and its end */
    cf_waiter *first;       /* the queue, by tickets; with `inner` held */
    uint64_t tickets;
    int closed; /* every call is refused; with `inner` held */
    struct cf_lock *before, *after; /* in the list of all locks */
} cf_lock;

/* Different for each thread that is alive, never 0. */
#ifndef CF_LOCK_THREAD
#if defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__)) && defined(__linux__)
#define CF_LOCK_THREAD() ((uintptr_t)__builtin_thread_pointer())
#else
#define CF_LOCK_THREAD() ((uintptr_t)PyThread_get_thread_ident())
#endif
#endif

/* Whether the object was free and now belongs to this thread alone. */
static inline int cf_lock_try(cf_lock *l)
{
    int word = CF_LOCK_FREE;
    if (!atomic_compare_exchange_strong_explicit(&l->word, &word, CF_LOCK_ALONE,
                                                 memory_order_acquire, memory_order_relaxed))
        return 0;
    atomic_store_explicit(&l->owner, CF_LOCK_THREAD(), memory_order_relaxed);
    return 1;
}

/* The reverse; 0 where a thread waits: then cf_lock_release_slow. */
static inline int cf_lock_release(cf_lock *l)
{
    int word = CF_LOCK_ALONE;
    atomic_store_explicit(&l->owner, 0, memory_order_relaxed);
    return atomic_compare_exchange_strong_explicit(&l->word, &word, CF_LOCK_FREE,
                                                   memory_order_release, memory_order_relaxed);
}

/* A number that who has the lock writes and anyone reads: no order with what is beside it. */
typedef _Atomic(int64_t) cf_number;

static inline int64_t cf_number_get(const cf_number *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

static inline void cf_number_put(cf_number *number, int64_t value)
{
    atomic_store_explicit(number, value, memory_order_relaxed);
}

/* A flag: whoever sets it owns something until it is cleared. */
static inline int cf_flag_set(atomic_int *flag)
{
    return !atomic_exchange_explicit(flag, 1, memory_order_acquire);
}

static inline void cf_flag_clear(atomic_int *flag)
{
    atomic_store_explicit(flag, 0, memory_order_release);
}

#endif

#if defined(CF_LOCK_IMPLEMENTATION) && !defined(CF_LOCK_IMPLEMENTED)
#define CF_LOCK_IMPLEMENTED
#include <stddef.h>
#ifdef _WIN32
#define cf_lock_yield() ((void)0)
#else
#include <sched.h>
#define cf_lock_yield() ((void)sched_yield())
#endif

enum cf_lock_answer {
    CF_LOCK_WAIT,
    CF_LOCK_ENTERED,
    CF_LOCK_IN_CHANGE, /* this thread changes the object already */
    CF_LOCK_IN_READ,   /* this thread reads the object and would change it */
    CF_LOCK_CLOSED
};

static inline void cf_lock_spin(atomic_flag *inner)
{
    for (int i = 0; atomic_flag_test_and_set_explicit(inner, memory_order_acquire); i++)
        if (i > 100)
            cf_lock_yield();
}

static inline void cf_lock_unspin(atomic_flag *inner)
{
    atomic_flag_clear_explicit(inner, memory_order_release);
}

/* The locks that this thread reads, with repetition. */
#define CF_LOCK_READS 64
static _Thread_local struct {
    int n;
    const cf_lock *at[CF_LOCK_READS];
} cf_reads;

static inline int cf_reads_count(const cf_lock *l)
{
    int found = 0;
    for (int i = 0; i < cf_reads.n; i++)
        found += cf_reads.at[i] == l;
    return found;
}

static inline int cf_reads_full(void)
{
    return cf_reads.n == CF_LOCK_READS;
}

/* With `inner` held: the word without CF_LOCK_QUEUED; nobody else writes it before cf_lock_put. */
static inline int cf_lock_get(cf_lock *l)
{
    return atomic_fetch_or_explicit(&l->word, CF_LOCK_QUEUED, memory_order_acq_rel)
           & ~CF_LOCK_QUEUED;
}

static inline void cf_lock_put(cf_lock *l, int word)
{
    atomic_store_explicit(&l->word, l->first != NULL ? word | CF_LOCK_QUEUED : word,
                          memory_order_release);
}

/* The word of an object that one more thread has. */
static inline int cf_lock_enter(cf_lock *l, int word, int shared, uintptr_t thread)
{
    atomic_store_explicit(&l->owner, shared ? 0 : thread, memory_order_relaxed);
    return shared ? word + CF_LOCK_READER : CF_LOCK_ALONE;
}

/* With `inner` held: puts the word, after all whose turn it is have been admitted. */
static inline void cf_lock_admit(cf_lock *l, int word)
{
    cf_waiter *node = l->first;
    while (node != NULL && !(word & CF_LOCK_ALONE) && (node->shared || word == CF_LOCK_FREE)) {
        word = cf_lock_enter(l, word, node->shared, node->thread);
        l->first = node->next;
        node->admitted = 1;
        node->wake(node->bell);
        node = l->first;
    }
    cf_lock_put(l, word);
}

/* An answer; CF_LOCK_ENTERED: this thread has the object. */
static inline enum cf_lock_answer cf_lock_try_slow(cf_lock *l, int shared)
{
    enum cf_lock_answer answer = CF_LOCK_ENTERED;
    uintptr_t me = CF_LOCK_THREAD();
    int word;
    cf_lock_spin(&l->inner);
    if (l->closed) {
        cf_lock_unspin(&l->inner);
        return CF_LOCK_CLOSED;
    }
    word = cf_lock_get(l);
    if (word & CF_LOCK_ALONE && atomic_load_explicit(&l->owner, memory_order_relaxed) == me)
        answer = CF_LOCK_IN_CHANGE;
    else if (cf_reads_count(l)) /* in the queue it would wait for itself */
        answer = shared ? CF_LOCK_ENTERED : CF_LOCK_IN_READ;
    else if (word & CF_LOCK_ALONE || l->first != NULL || (word != CF_LOCK_FREE && !shared))
        answer = CF_LOCK_WAIT;
    cf_lock_put(l, answer == CF_LOCK_ENTERED ? cf_lock_enter(l, word, shared, me) : word);
    cf_lock_unspin(&l->inner);
    return answer;
}

/* Queues a waiter, by its ticket: it keeps its place when it queues again. */
static inline void cf_lock_queue(cf_lock *l, cf_waiter *node)
{
    cf_waiter **at = &l->first;
    cf_lock_spin(&l->inner);
    if (node->ticket == 0)
        node->ticket = ++l->tickets;
    while (*at != NULL && (*at)->ticket < node->ticket)
        at = &(*at)->next;
    node->next = *at;
    *at = node;
    cf_lock_admit(l, cf_lock_get(l)); /* the object may have become free */
    cf_lock_unspin(&l->inner);
}

/* After sleeping: whether the waiter was admitted. If not, it has left the queue. */
static inline int cf_lock_leave_queue(cf_lock *l, cf_waiter *node)
{
    cf_waiter **at = &l->first;
    int admitted;
    cf_lock_spin(&l->inner);
    admitted = node->admitted;
    if (!admitted) {
        while (*at != node)
            at = &(*at)->next;
        *at = node->next;
        cf_lock_admit(l, cf_lock_get(l));
    }
    cf_lock_unspin(&l->inner);
    return admitted;
}

static inline void cf_lock_release_slow(cf_lock *l)
{
    cf_lock_spin(&l->inner);
    if (!l->closed) {
        cf_lock_get(l);
        cf_lock_admit(l, CF_LOCK_FREE);
    }
    cf_lock_unspin(&l->inner);
}

/* Whether no thread changed the object or waited for it, and this thread now reads it. */
static inline int cf_lock_try_shared(cf_lock *l)
{
    int word = atomic_load_explicit(&l->word, memory_order_relaxed);
    while (!(word & (CF_LOCK_ALONE | CF_LOCK_QUEUED)))
        if (atomic_compare_exchange_weak_explicit(&l->word, &word, word + CF_LOCK_READER,
                                                  memory_order_acquire, memory_order_relaxed))
            return 1;
    return 0;
}

/* After this thread was admitted as a reader, which cf_reads_full allowed. */
static inline void cf_lock_note_shared(const cf_lock *l)
{
    cf_reads.at[cf_reads.n++] = l;
}

static inline void cf_lock_release_shared(cf_lock *l)
{
    int i = cf_reads.n - 1, word;
    while (i > 0 && cf_reads.at[i] != l)
        i--;
    cf_reads.at[i] = cf_reads.at[--cf_reads.n];
    word = atomic_load_explicit(&l->word, memory_order_relaxed);
    while (!(word & CF_LOCK_QUEUED))
        if (atomic_compare_exchange_weak_explicit(&l->word, &word, word - CF_LOCK_READER,
                                                  memory_order_release, memory_order_relaxed))
            return;
    cf_lock_spin(&l->inner);
    cf_lock_admit(l, cf_lock_get(l) - CF_LOCK_READER);
    cf_lock_unspin(&l->inner);
}

/* Refuses every call from now on, or no longer; for objects that no thread uses. */
static inline void cf_lock_close(cf_lock *l, int closed)
{
    l->closed = closed;
    atomic_store_explicit(&l->word, closed ? CF_LOCK_ALONE | CF_LOCK_QUEUED : CF_LOCK_FREE,
                          memory_order_release);
}

/* All locks, for a fork. */
static cf_lock *cf_locks;
static atomic_flag cf_locks_inner = ATOMIC_FLAG_INIT;

static inline void cf_lock_register(cf_lock *l)
{
    cf_lock_spin(&cf_locks_inner);
    l->after = cf_locks;
    if (cf_locks != NULL)
        cf_locks->before = l;
    cf_locks = l;
    cf_lock_unspin(&cf_locks_inner);
}

static inline void cf_lock_unregister(cf_lock *l)
{
    cf_lock_spin(&cf_locks_inner);
    if (l->before != NULL)
        l->before->after = l->after;
    else
        cf_locks = l->after;
    if (l->after != NULL)
        l->after->before = l->before;
    cf_lock_unspin(&cf_locks_inner);
}

/* In a child, where of all threads only the caller is left: forgets what the others had, and closes
 * the objects that one of them was changing. */
static inline void cf_locks_forked(void)
{
    cf_lock_unspin(&cf_locks_inner);
    for (cf_lock *l = cf_locks; l != NULL; l = l->after) {
        int word;
        cf_lock_unspin(&l->inner);
        if (l->closed)
            continue;
        l->first = NULL; /* the caller was not waiting */
        word = cf_lock_get(l);
        if (!(word & CF_LOCK_ALONE))
            cf_lock_put(l, CF_LOCK_READER * cf_reads_count(l));
        else if (atomic_load_explicit(&l->owner, memory_order_relaxed) == CF_LOCK_THREAD())
            cf_lock_put(l, CF_LOCK_ALONE);
        else
            cf_lock_close(l, 1);
    }
}
#endif
