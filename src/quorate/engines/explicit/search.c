/* Breadth-first search of a finite system on the CPU.  The emitted model is included where MODEL stands.

   States are divided among shards by their hash.  A shard keeps its states in a log, in the order they were found, so the
   layers of the search are ranges of the log, and a table of one word per slot that finds them again: the state itself if
   it fits into a word, else part of its hash and its number in the log.  The table is made of cache lines; a state lies in
   the line that its hash tells or, where that is full, in one of the next.  Each shard belongs to one thread, so nothing is
   locked: threads expand a chunk of their own states, hand over what belongs to others, and meet at a barrier. */

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

typedef uint64_t u64;
//SIZES//

enum { BUFFER = 512, CHUNK = 8192, MOST_THREADS = 256, MOST_ROUNDS = 8, LINE = 8, RECENT = 1 << 15, FIRST_LINES = 4096 };
enum { RUNNING, FINISHED, OUT_OF_MEMORY, STOPPED };

typedef struct {
  u64 *log, *table;
  u64 count, lines, room;          /* states in the log; lines of the table; states it takes before it must grow */
  u64 from, to, cursor;            /* the layer being expanded, and how far */
} shard;

typedef struct {
  u64 states, transitions, deadlocks, depth;
  u64 unreduced;                   /* states that those found stand for under symmetry */
  u64 fired[TRANSITIONS];
} totals;

typedef struct { u64 *words; u64 count, capacity; } outbox;

typedef struct search search;

struct sink {
  u64 *next, *end;
  u64 fired[TRANSITIONS];
  void (*flush)(struct sink *);
  search *search;
  outbox *outboxes;                /* one per shard, twice: the others still read what was posted a round ago */
  unsigned parity;
  outbox own;                      /* what is for the shard whose states are being expanded */
  u64 deadlocks, expanded, unreduced;
  u64 bad;                         /* properties that a state of the layer being found violates */
  shard *home;
  u64 buffer[BUFFER * WORDS];
  u64 hashes[BUFFER + 1];
  u64 recent[RECENT * WORDS];      /* states met lately, each at the place that its hash tells */
  /* simulation */
  u64 random, seen, *picked;
};

#define FUNCTION static inline
#define RARE static
#define UPPER_HALF(a, b) ((u64)((unsigned __int128)(a) * (b) >> 64))
#define TABLE static const
#define SINK struct sink *k
#define PASS k
#define EMIT_INITIAL do { STORE(k->next) k->next += WORDS; if (k->next == k->end) k->flush(k); } while (0)
#define EMIT(T) do { STORE(k->next) k->next += CHANGED ? WORDS : 0; k->fired[T]++; k->expanded = 1; \
                     if (k->next == k->end) k->flush(k); } while (0)

//MODEL//

//COMMON//

struct search {
  unsigned shards, threads;
  shard *shard;
  struct sink *sinks;
  u64 memory, used;                /* the limit and what logs and tables take, in bytes */
  symmetry symmetry;
  totals total, safe;
  u64 *safe_counts, *safe_cursors; /* where each shard stood at the last barrier */
  u64 *layers;                     /* for each layer and shard, the number of its first state */
  u64 layer_capacity;
  u64 bad, first_bad[64][3];       /* violated properties; depth, shard and number of the first such state */
  u64 stuck;                       /* the first layer with a state that has no successor */
  int keep_going, status, pause;
  unsigned rounds;
  atomic_int failed, gate;
  atomic_uint arrived, generation;
  double until;
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static inline unsigned owner(u64 h, unsigned shards) { return (unsigned)((h & 0xffff) * shards >> 16); }

/* The line of a state, from the upper half of its hash: that much of it is known from the table alone. */
static inline u64 line_of(u64 h, u64 lines) { return (h >> 32) * lines >> 32; }

#if WORDS == 1
static inline u64 entry_of(const u64 *s, u64 h, u64 number) { return s[0] + 1; }
static inline u64 entry_hash(u64 entry) { entry--; return hash(&entry); }
#else
static inline u64 entry_of(const u64 *s, u64 h, u64 number) { return (h >> 32) << 32 | (number + 1); }
static inline u64 entry_hash(u64 entry) { return entry >> 32 << 32; }
#endif

/* -- a line of the table: compared without branches, for which slot is hit cannot be foretold -------------------- */

#if WORDS == 1
#define COMPARED ~0ull
#else
#define COMPARED 0xffffffff00000000ull
#endif

#if defined __AVX512F__
#include <immintrin.h>
/* A bit for each slot that may hold the entry. */
static inline unsigned matches(const u64 *slots, u64 key) {
  const __m512i mask = _mm512_set1_epi64((long long)COMPARED);
  return _mm512_cmpeq_epi64_mask(_mm512_and_si512(_mm512_load_si512(slots), mask), _mm512_set1_epi64((long long)(key & COMPARED)));
}
/* How many slots are taken; they are the first ones. */
static inline unsigned filled(const u64 *slots) {
  const __m512i line = _mm512_load_si512(slots);
  return (unsigned)__builtin_popcount(_mm512_test_epi64_mask(line, line));
}
#elif defined __AVX2__
#include <immintrin.h>
static inline unsigned compare(const u64 *slots, u64 mask, u64 key) {
  const __m256i masks = _mm256_set1_epi64x((long long)mask), keys = _mm256_set1_epi64x((long long)key);
  const __m256i low = _mm256_and_si256(_mm256_load_si256((const __m256i *)slots), masks);
  const __m256i high = _mm256_and_si256(_mm256_load_si256((const __m256i *)slots + 1), masks);
  return (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(low, keys))) |
         (unsigned)_mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(high, keys))) << 4;
}
static inline unsigned matches(const u64 *slots, u64 key) { return compare(slots, COMPARED, key & COMPARED); }
static inline unsigned filled(const u64 *slots) { return LINE - (unsigned)__builtin_popcount(compare(slots, ~0ull, 0)); }
#else
static inline unsigned matches(const u64 *slots, u64 key) {
  unsigned found = 0;
  for (int i = 0; i < LINE; i++) found |= (unsigned)!((slots[i] ^ key) & COMPARED) << i;
  return found;
}
static inline unsigned filled(const u64 *slots) {
  unsigned found = 0;
  for (int i = 0; i < LINE; i++) found += slots[i] != 0;
  return found;
}
#endif

/* -- storage -------------------------------------------------------------------------------------------------- */

static void *reserve(u64 bytes) {
  void *found = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) return 0;
#ifdef MADV_HUGEPAGE
  if (bytes >= 1 << 22) madvise(found, bytes, MADV_HUGEPAGE);
#endif
  return found;
}

static inline void place(shard *h, u64 entry, u64 code) {
  for (u64 line = line_of(code, h->lines);; line = line + 1 == h->lines ? 0 : line + 1) {
    u64 *slots = h->table + line * LINE;
    for (int i = 0; i < LINE; i++) if (!slots[i]) { slots[i] = entry; return; }
  }
}

/* How many states a table takes before it must grow. */
#define ROOM(lines) ((lines) * LINE / 10 * 7)

/* A larger table, in place; not if it and the states it has room for would take too much memory.  Lines are moved from the
   last to the first: what belongs to a line further up goes there, and what had been displaced waits till the end. */
static int grow(search *q, shard *h, u64 wanted) {
  const u64 most = q->memory / q->shards / (8 * LINE + WORDS * 8 * LINE * 7 / 10);
  const u64 old = h->lines;
  u64 lines = old;
  do lines += lines / 5 * 2; while (ROOM(lines) < wanted);
  if (lines > most) lines = most;
  if (ROOM(lines) < wanted + BUFFER || lines * LINE >= 0xffffffffull) return 0;
  u64 *waiting = 0, waits = 0, capacity = 0;
  u64 near[2] = {~0ull, ~0ull}, taken[2] = {0, 0}; /* the two lines being filled, and how many slots are taken */
  h->lines = lines;
  h->room = ROOM(lines);
  for (u64 line = old; line-- > 0;) {
    u64 moved[LINE];
    memcpy(moved, h->table + line * LINE, sizeof moved);
    memset(h->table + line * LINE, 0, sizeof moved);
    for (int i = 0; i < LINE && moved[i]; i++) {
      const u64 code = entry_hash(moved[i]);
      const u64 target = line_of(code, lines);
      if (target >= line) {
        const u64 side = target & 1;
        if (near[side] != target) {
          near[side] = target;
          for (taken[side] = 0; taken[side] < LINE && h->table[target * LINE + taken[side]];) taken[side]++;
        }
        if (taken[side] < LINE) {
          h->table[target * LINE + taken[side]++] = moved[i];
        } else {
          place(h, moved[i], code);
          near[0] = near[1] = ~0ull;
        }
        continue;
      }
      if (waits == capacity) {
        u64 *larger = realloc(waiting, (capacity = 2 * capacity + 64) * 8);
        if (!larger) { free(waiting); return 0; }
        waiting = larger;
      }
      waiting[waits++] = moved[i];
    }
  }
  while (waits--) place(h, waiting[waits], entry_hash(waiting[waits]));
  free(waiting);
  return 1;
}

/* Fill the table from the log. */
static int fill(search *q, shard *h) {
  if (h->count > h->room && !grow(q, h, h->count)) return 0;
  for (u64 i = 0; i < h->count; i++) {
    const u64 *s = h->log + i * WORDS, code = hash(s);
    place(h, entry_of(s, code, i), code);
  }
  return 1;
}

static u64 bytes_used(const search *q) {
  u64 bytes = 0;
  for (unsigned i = 0; i < q->shards; i++) bytes += q->shard[i].count * WORDS * 8 + q->shard[i].lines * LINE * 8;
  return bytes;
}

/* Put states into their shard; those that are new join its log and are checked. */
static void insert(struct sink *k, shard *h, const u64 *states, const u64 *codes, u64 count) {
  search *q = k->search;
  if (h->count + count > h->room && !grow(q, h, h->count + count)) {
    atomic_store(&q->failed, 1);
    return;
  }
  for (u64 j = 0; j < count; j++) {
    const u64 *s = states + j * WORDS;
    const u64 key = entry_of(s, codes[j], h->count);
    for (u64 *slots = h->table + line_of(codes[j], h->lines) * LINE;;) {
      const unsigned full = filled(slots), hits = matches(slots, key) & ((1u << full) - 1);
#if WORDS == 1
      if (hits) goto next;
#else
      for (unsigned rest = hits; rest; rest &= rest - 1)
        if (!memcmp(h->log + ((slots[__builtin_ctz(rest)] & 0xffffffffull) - 1) * WORDS, s, 8 * WORDS)) goto next;
#endif
      if (full < LINE) { slots[full] = key; break; }
      slots += LINE;
      if (slots == h->table + h->lines * LINE) slots = h->table;
    }
    memcpy(h->log + h->count * WORDS, s, 8 * WORDS);
    h->count++;
    k->bad |= violated(s);
    k->unreduced += q->symmetry.tables ? orbit(q->symmetry, s) : 1;
  next:;
  }
}

static int make_room(outbox *box, u64 more) {
  if (box->count + more <= box->capacity) return 1;
  const u64 capacity = 2 * (box->count + more);
  u64 *words = realloc(box->words, capacity * WORDS * 8);
  if (!words) return 0;
  box->words = words;
  box->capacity = capacity;
  return 1;
}

/* What the emitted code has written so far: put what is ours into the table, post the rest.  There are no branches on what
   cannot be foretold: whether a state was met lately, and whose it is. */
static void flush_search(struct sink *k) {
  search *q = k->search;
  const u64 total = (u64)(k->next - k->buffer) / WORDS;
  outbox *boxes = k->outboxes + k->parity * q->shards, *own = &k->own;
  const unsigned home = (unsigned)(k->home - q->shard);
  k->next = k->buffer;
  if (!make_room(own, total + 1)) { atomic_store(&q->failed, 1); return; }
  for (unsigned i = 0; i < q->shards; i++)
    if (!make_room(boxes + i, total + 1)) { atomic_store(&q->failed, 1); return; }
  const u64 lines = k->home->lines, *table = k->home->table;
  for (u64 j = 0; j < total; j++) {
    u64 *s = k->buffer + j * WORDS;
    if (q->symmetry.tables) canonical(q->symmetry, s);
    const u64 code = hash(s);
    u64 *met = k->recent + (code >> 16) % RECENT * WORDS;
    const int new = !equal(met, s);
    copy(met, s);
    const unsigned target = q->shards == 1 ? 0 : owner(code, q->shards);
    outbox *box = target == home ? own : boxes + target;
    const u64 *line = table + line_of(code, lines) * LINE;
    __builtin_prefetch(new && box == own ? line : table, 1, 3);
    copy(box->words + box->count * WORDS, s);
    k->hashes[own->count] = code;
    box->count += (u64)new;
  }
  insert(k, k->home, own->words, k->hashes, own->count);
  own->count = 0;
}

/* What other threads have posted to a shard. */
static void receive(struct sink *k, shard *h, outbox *box) {
  for (u64 first = 0; first < box->count && !atomic_load_explicit(&k->search->failed, memory_order_relaxed); first += BUFFER) {
    const u64 count = box->count - first < BUFFER ? box->count - first : BUFFER;
    for (u64 j = 0; j < count; j++) {
      k->hashes[j] = hash(box->words + (first + j) * WORDS);
      __builtin_prefetch(h->table + line_of(k->hashes[j], h->lines) * LINE, 1, 3);
    }
    insert(k, h, box->words + first * WORDS, k->hashes, count);
  }
  box->count = 0;
}

/* -- the search ----------------------------------------------------------------------------------------------- */

static void barrier(search *q) {
  const unsigned mine = atomic_load(&q->generation);
  if (atomic_fetch_add(&q->arrived, 1) + 1 == q->threads) {
    atomic_store(&q->arrived, 0);
    atomic_fetch_add(&q->generation, 1);
    return;
  }
  for (unsigned spins = 0; atomic_load_explicit(&q->generation, memory_order_acquire) == mine; spins++)
    if (spins > 200) sched_yield();
}

/* How many rounds to make: to the end of the layer, but not for too long. */
static void plan(search *q) {
  u64 most = 0;
  for (unsigned i = 0; i < q->shards; i++) {
    const u64 left = q->shard[i].to - q->shard[i].cursor;
    if (left > most) most = left;
  }
  most = (most + CHUNK - 1) / CHUNK;
  q->rounds = most < MOST_ROUNDS ? (unsigned)most : MOST_ROUNDS;
}

static void mark_safe(search *q) {
  q->safe = q->total;
  for (unsigned i = 0; i < q->shards; i++) {
    q->safe_counts[i] = q->shard[i].count;
    q->safe_cursors[i] = q->shard[i].cursor;
  }
}

/* For each property violated for the first time, the least such state among those that the layer being found has so far:
   which one it is depends neither on the order in which states were found nor on the number of shards. */
static void find_bad(search *q) {
  const u64 depth = q->total.depth + 1;
  u64 bad = 0;
  for (unsigned t = 0; t < q->threads; t++) bad |= q->sinks[t].bad;
  for (int p = 0; p < 64; p++)
    if (q->bad >> p & 1 && q->first_bad[p][0] < depth) bad &= ~(1ull << p);
  if (!bad) return;
  q->bad &= ~bad;
  for (unsigned i = 0; i < q->shards; i++)
    for (u64 n = q->shard[i].to; n < q->shard[i].count; n++) {
      const u64 *s = q->shard[i].log + n * WORDS;
      u64 here = violated(s) & bad;
      for (int p = 0; here; p++, here >>= 1) {
        u64 *first = q->first_bad[p];
        if (!(here & 1) || (q->bad >> p & 1 && !less(s, q->shard[first[1]].log + first[2] * WORDS))) continue;
        first[0] = depth;
        first[1] = i;
        first[2] = n;
        q->bad |= 1ull << p;
      }
    }
}

/* After each chunk, by one thread while the others wait: gather counters, begin the next layer, decide whether to go on. */
static void settle(search *q) {
  if (atomic_load(&q->failed)) {
    find_bad(q);
    q->status = OUT_OF_MEMORY;
    q->pause = 1;
    return;
  }
  u64 states = 0, left = 0;
  const u64 depth = q->total.depth;
  for (unsigned t = 0; t < q->threads; t++) {
    struct sink *k = q->sinks + t;
    for (int i = 0; i < TRANSITIONS; i++) {
      q->total.fired[i] += k->fired[i];
      q->total.transitions += k->fired[i];
      k->fired[i] = 0;
    }
    if (k->deadlocks && q->stuck == ~0ull) q->stuck = depth;
    q->total.deadlocks += k->deadlocks;
    q->total.unreduced += k->unreduced;
    k->deadlocks = k->unreduced = 0;
  }
  for (unsigned i = 0; i < q->shards; i++) {
    states += q->shard[i].count;
    left += q->shard[i].to - q->shard[i].cursor;
  }
  q->total.states = states;
  q->used = bytes_used(q);
  q->pause = now() > q->until;
  if (!left || q->pause) find_bad(q);
  if (!left) {
    u64 added = 0;
    for (unsigned i = 0; i < q->shards; i++) added += q->shard[i].count - q->shard[i].to;
    if (!added) {
      q->status = FINISHED;
    } else {
      if (depth + 3 > q->layer_capacity) {
        q->layer_capacity = 2 * (depth + 3);
        q->layers = realloc(q->layers, q->layer_capacity * q->shards * 8);
      }
      for (unsigned i = 0; i < q->shards; i++) {
        shard *h = q->shard + i;
        h->from = h->cursor = h->to;
        h->to = h->count;
        q->layers[(depth + 1) * q->shards + i] = h->from;
        q->layers[(depth + 2) * q->shards + i] = h->to;
      }
      q->total.depth = depth + 1;
      for (unsigned t = 0; t < q->threads; t++) q->sinks[t].bad = 0;
      if (q->bad && !q->keep_going) q->status = STOPPED;
    }
  }
  if (q->status != RUNNING) q->pause = 1;
  plan(q);
  mark_safe(q);
}

static void expand_chunk(struct sink *k, shard *h) {
  const atomic_int *failed = &k->search->failed;
  const u64 end = h->cursor + CHUNK < h->to ? h->cursor + CHUNK : h->to;
  k->home = h;
  for (; h->cursor < end && !atomic_load_explicit(failed, memory_order_relaxed); h->cursor++) {
    u64 s[WORDS];
    copy(s, h->log + h->cursor * WORDS);
    k->expanded = 0;
    expand(s, k);
    k->deadlocks += !k->expanded;
  }
  flush_search(k);
}

/* All threads make the same number of rounds before they settle. */
static void *work(void *argument) {
  struct sink *k = argument;
  search *q = k->search;
  const unsigned me = (unsigned)(k - q->sinks);
  while (!atomic_load(&q->gate)) sched_yield();
  if (atomic_load(&q->gate) < 0) return 0;
  do {
    for (unsigned round = q->rounds; round-- > 0;) {
      k->parity ^= 1;
      for (unsigned i = me; i < q->shards; i += q->threads) expand_chunk(k, q->shard + i);
      barrier(q);
      for (unsigned i = me; i < q->shards; i += q->threads)
        for (unsigned t = 0; t < q->threads; t++)
          receive(k, q->shard + i, q->sinks[t].outboxes + k->parity * q->shards + i);
    }
    barrier(q);
    if (me == 0) settle(q);
    barrier(q);
  } while (!q->pause);
  return 0;
}

/* -- what Python calls ---------------------------------------------------------------------------------------- */

search *search_new(unsigned shards, unsigned threads, u64 memory, int keep_going, const u64 *tables,
                   const unsigned *groups, const unsigned *members) {
  search *q = calloc(1, sizeof *q);
  if (!q) return 0;
  q->shards = shards;
  q->threads = threads < shards ? threads : shards;
  q->memory = memory;
  q->keep_going = keep_going;
  q->symmetry.tables = tables;
  q->symmetry.groups = groups;
  q->symmetry.members = members;
  q->shard = calloc(shards, sizeof *q->shard);
  q->sinks = calloc(q->threads, sizeof *q->sinks);
  q->safe_counts = calloc(shards, 8);
  q->safe_cursors = calloc(shards, 8);
  q->layer_capacity = 64;
  q->layers = calloc(q->layer_capacity * shards, 8);
  q->stuck = ~0ull;
  for (unsigned i = 0; i < shards; i++) {
    shard *h = q->shard + i;
    h->lines = FIRST_LINES;
    h->room = ROOM(h->lines) < memory / shards / (8 * WORDS) ? ROOM(h->lines) : memory / shards / (8 * WORDS);
    h->log = reserve(memory / shards + BUFFER * WORDS * 16);
    h->table = reserve(memory / shards + h->lines * LINE * 8);
    if (!h->log || !h->table) return 0;
  }
  for (unsigned t = 0; t < q->threads; t++) {
    struct sink *k = q->sinks + t;
    k->search = q;
    k->flush = flush_search;
    k->next = k->buffer;
    k->end = k->buffer + BUFFER * WORDS;
    memset(k->recent, 255, sizeof k->recent);
    k->outboxes = calloc(2 * shards, sizeof *k->outboxes);
  }
  return q;
}

void search_free(search *q) {
  for (unsigned i = 0; i < q->shards; i++) {
    munmap(q->shard[i].log, q->memory / q->shards + BUFFER * WORDS * 16);
    munmap(q->shard[i].table, q->memory / q->shards + FIRST_LINES * LINE * 8);
  }
  for (unsigned t = 0; t < q->threads; t++) {
    for (unsigned i = 0; i < 2 * q->shards; i++) free(q->sinks[t].outboxes[i].words);
    free(q->sinks[t].outboxes);
    free(q->sinks[t].own.words);
  }
  free(q->shard); free(q->sinks); free(q->safe_counts); free(q->safe_cursors); free(q->layers);
  free(q);
}

/* The first layer.  Returns the status. */
int search_begin(search *q) {
  struct sink *k = q->sinks;
  k->home = q->shard;
  for (unsigned world = 0; world < WORLDS; world++) initial(world, k);
  flush_search(k);
  for (unsigned i = 0; i < q->shards; i++) receive(k, q->shard + i, k->outboxes + i);
  if (atomic_load(&q->failed)) return q->status = OUT_OF_MEMORY;
  q->total.depth = (u64)-1;        /* the layer that is now filled becomes layer 0 */
  settle(q);
  if (q->status == FINISHED) q->total.depth = 0;
  mark_safe(q);
  return q->status;
}

/* Put saved states into a shard, before `search_resume`. */
int search_load(search *q, unsigned index, const u64 *states, u64 count) {
  shard *h = q->shard + index;
  if ((count * WORDS + 2 * count) * 8 > q->memory / q->shards) return 0;
  memcpy(h->log + h->count * WORDS, states, count * WORDS * 8);
  h->count += count;
  return 1;
}

/* Continue from saved states; cursors, layers and totals are as they were. */
int search_resume(search *q, const u64 *cursors, const u64 *layers, const totals *total, u64 bad, const u64 *first_bad,
                  u64 stuck) {
  q->total = *total;
  q->bad = bad;
  memcpy(q->first_bad, first_bad, sizeof q->first_bad);
  q->stuck = stuck;
  q->layer_capacity = 2 * (total->depth + 3);
  q->layers = realloc(q->layers, q->layer_capacity * q->shards * 8);
  memcpy(q->layers, layers, (total->depth + 2) * q->shards * 8);
  for (unsigned i = 0; i < q->shards; i++) {
    shard *h = q->shard + i;
    h->from = layers[total->depth * q->shards + i];
    h->to = layers[(total->depth + 1) * q->shards + i];
    h->cursor = cursors[i];
    if (!fill(q, h)) return q->status = OUT_OF_MEMORY;
    for (u64 n = h->to; n < h->count; n++) q->sinks[0].bad |= violated(h->log + n * WORDS);
  }
  q->used = bytes_used(q);
  plan(q);
  mark_safe(q);
  return q->status = RUNNING;
}

/* Search on for some seconds.  Returns the status. */
int search_run(search *q, double seconds) {
  if (q->status != RUNNING) return q->status;
  pthread_t threads[MOST_THREADS];
  q->until = now() + seconds;
  atomic_store(&q->gate, 0);
  unsigned started = 1;
  while (started < q->threads && !pthread_create(threads + started, 0, work, q->sinks + started)) started++;
  atomic_store(&q->gate, started == q->threads ? 1 : -1);
  work(q->sinks);
  for (unsigned t = 1; t < started; t++) pthread_join(threads[t], 0);
  if (started < q->threads) return q->status = OUT_OF_MEMORY;
  return q->status;
}

const totals *search_totals(const search *q) { return &q->safe; }
u64 search_used(const search *q) { return q->used; }
u64 search_bad(const search *q) { return q->bad; }
const u64 *search_first_bad(const search *q) { return &q->first_bad[0][0]; }
u64 search_stuck(const search *q) { return q->stuck; }
const u64 *search_layers(const search *q) { return q->layers; }
const u64 *search_counts(const search *q) { return q->safe_counts; }
const u64 *search_cursors(const search *q) { return q->safe_cursors; }
const u64 *search_log(const search *q, unsigned index) { return q->shard[index].log; }
void search_canonical(const search *q, u64 *s) { if (q->symmetry.tables) canonical(q->symmetry, s); }
u64 search_violated(const u64 *s) { return violated(s); }

/* -- looking back --------------------------------------------------------------------------------------------- */

static void flush_match(struct sink *k) {
  search *q = k->search;
  for (u64 *s = k->buffer; s < k->next; s += WORDS) {
    if (q->symmetry.tables) canonical(q->symmetry, s);
    if (k->picked && equal(s, k->picked)) k->seen = 1;
  }
  k->next = k->buffer;
}

/* The least state of the given layer that leads to the target in one step or, where there is no target, that has no
   successor: writes its words, returns whether there is one. */
int search_back(search *q, u64 layer, u64 *target, u64 *found) {
  struct sink *k = calloc(1, sizeof *k);
  int any = 0;
  k->search = q;
  k->flush = flush_match;
  k->next = k->buffer;
  k->end = k->buffer + BUFFER * WORDS;
  k->picked = target;
  for (unsigned i = 0; i < q->shards; i++)
    for (u64 n = q->layers[layer * q->shards + i]; n < q->layers[(layer + 1) * q->shards + i]; n++) {
      const u64 *s = q->shard[i].log + n * WORDS;
      if (any && less(found, s)) continue;
      k->seen = k->expanded = 0;
      expand(s, k);
      flush_match(k);
      if (!(target ? k->seen : !k->expanded)) continue;
      copy(found, s);
      any = 1;
    }
  free(k);
  return any;
}

/* -- random runs ---------------------------------------------------------------------------------------------- */

static inline u64 next_random(u64 *x) { return mix(*x += 0x9E3779B97F4A7C15ull); }

/* Choose one of all successors, each with the same probability, whatever their number. */
static void flush_pick(struct sink *k) {
  const u64 total = (u64)(k->next - k->buffer) / WORDS;
  if (!total) return;
  k->seen += total;
  const u64 pick = UPPER_HALF(next_random(&k->random), k->seen);
  if (pick < total) memcpy(k->picked, k->buffer + pick * WORDS, 8 * WORDS);
  k->next = k->buffer;
}

/* Random runs number `first`, `first + 1`, ..  Each starts in a random one of the given states and makes up to `depth`
   steps, each of which changes something; `lengths` gets the number of steps of each, `bad` the properties its last state violates (the run stops there).
   Where `path` is given, it gets the states of the runs, `depth + 1` places each. */
void simulate(const u64 *starts, u64 start_count, u64 seed, u64 first, u64 runs, u64 depth, u64 *lengths, u64 *bad,
              u64 *path, u64 *fired) {
  struct sink *k = calloc(1, sizeof *k);
  u64 s[WORDS], picked[WORDS];
  k->flush = flush_pick;
  k->end = k->buffer + BUFFER * WORDS;
  k->picked = picked;
  for (u64 run = 0; run < runs; run++) {
    k->random = mix(seed * 0x9E3779B97F4A7C15ull + mix(first + run));
    memcpy(s, starts + UPPER_HALF(next_random(&k->random), start_count) * WORDS, sizeof s);
    u64 step = 0;
    u64 *places = path ? path + run * (depth + 1) * WORDS : 0;
    for (;; step++) {
      if (places) memcpy(places + step * WORDS, s, sizeof s);
      bad[run] = violated(s);
      if (bad[run] || step == depth) break;
      k->next = k->buffer;
      k->seen = 0;
      expand(s, k);
      flush_pick(k);
      if (!k->seen) break;
      memcpy(s, picked, sizeof s);
    }
    lengths[run] = step;
  }
  if (fired) for (int i = 0; i < TRANSITIONS; i++) fired[i] += k->fired[i];
  free(k);
}
