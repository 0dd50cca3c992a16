/* Breadth-first search of a finite system on a GPU, one thread per state.

   All states lie in one log, in the order they were found; layers are ranges of it.  A state of one word is put into the
   table at once, with an atomic exchange.  Wider states first go into a buffer of candidates; then each candidate tries to
   claim a slot by its number, comparing itself with what is there; then the winners join the log.

   A kernel that runs out of room sets `overflow`: the host makes room, fills the table from the log and runs the kernel
   again.  What it had added stays; only the counters start over. */

typedef unsigned long long u64;
//SIZES//

typedef struct {
  u64 count, waiting;              /* states in the log; candidates */
  u64 overflow, bad, deadlocks, unreduced, match;
  u64 fired[TRANSITIONS];
} counters;

/* Where everything is: the argument of every kernel. */
typedef struct {
  u64 *log, *table, *candidates, *claims;
  u64 capacity, mask, room;        /* states that the log takes; slots of the table less one; candidates */
  counters *c;
  const u64 *permutations;         /* 0 where no symmetry is used */
  const unsigned *groups, *members;
} engine;

struct sink {
  const engine *e;
  unsigned fired[TRANSITIONS];
  const u64 *target;               /* the state that is looked for, if any, and the state whose successors are made */
  u64 parent;
  unsigned part, parts, turn;      /* of initial states, each thread takes its share */
};

#define FUNCTION __device__ static inline
#define RARE __device__ static __noinline__
#define UPPER_HALF(a, b) __umul64hi(a, b)
#define TABLE __device__ static const
#define SINK struct sink *k
#define PASS k
#define EMIT_INITIAL do { u64 successor[WORDS]; STORE(successor) found(k, successor); } while (0)
#define EMIT(T) do { u64 successor[WORDS]; STORE(successor) k->fired[T]++; found(k, successor); } while (0)
__device__ static void found(struct sink *k, u64 *s);

//MODEL//

//COMMON//

enum { LONGEST_PROBE = 512 };

FUNCTION symmetry symmetries(const engine *e) {
  const symmetry y = {e->permutations, e->groups, e->members};
  return y;
}

/* A successor: join the table, wait as a candidate, or be compared with the state that is looked for. */
__device__ static void found(struct sink *k, u64 *s) {
  const engine *e = k->e;
  if (k->parts && k->turn++ % k->parts != k->part) return;
  if (e->permutations) canonical(symmetries(e), s);
  if (k->target) {
    if (equal(s, k->target)) atomicMin(&e->c->match, k->parent);
    return;
  }
#if WORDS == 1
  u64 slot = hash(s) & e->mask;
  for (int probe = 0; probe < LONGEST_PROBE; probe++, slot = (slot + 1) & e->mask) {
    u64 entry = e->table[slot];
    if (!entry) entry = atomicCAS(e->table + slot, 0ull, s[0] + 1);
    if (entry == s[0] + 1) return;
    if (!entry) {
      const u64 number = atomicAdd(&e->c->count, 1ull);
      if (number < e->capacity) copy(e->log + number * WORDS, s);
      else e->c->overflow = 1;
      return;
    }
  }
  e->c->overflow = 1;
#else
  const u64 number = atomicAdd(&e->c->waiting, 1ull);
  if (number < e->room) copy(e->candidates + number * WORDS, s);
  else e->c->overflow = 1;
#endif
}

FUNCTION void tell(struct sink *k, int expanded) {
  const unsigned lane = threadIdx.x & 31;
  unsigned total = 0;
  for (int i = 0; i < TRANSITIONS; i++) {
    total += k->fired[i];
    const unsigned sum = __reduce_add_sync(0xffffffffu, k->fired[i]);
    if (!lane && sum) atomicAdd(&k->e->c->fired[i], (u64)sum);
  }
  const unsigned stuck = __ballot_sync(0xffffffffu, expanded && !total);
  if (!lane && stuck) atomicAdd(&k->e->c->deadlocks, (u64)__popc(stuck));
}

#ifndef LOOK_BACK
extern "C" __global__ void begin(engine e, unsigned parts) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  struct sink k = {&e, {0}, 0, 0, i % parts, parts, 0};
  if (i / parts < WORLDS) initial(i / parts, &k);
}

extern "C" __global__ void expand_range(engine e, u64 from, u64 to) {
  struct sink k = {&e, {0}, 0, 0, 0, 0, 0};
  const u64 i = from + blockIdx.x * (u64)blockDim.x + threadIdx.x;
  if (i < to) {
    u64 s[WORDS];
    copy(s, e.log + i * WORDS);
    expand(s, &k);
  }
  tell(&k, i < to);
}

/* What is to be known of the states of a new layer: the properties that one of them violates, and how many they stand for. */
extern "C" __global__ void look(engine e, u64 from, u64 to) {
  const u64 i = from + blockIdx.x * (u64)blockDim.x + threadIdx.x;
  if (i >= to) return;
  u64 s[WORDS];
  copy(s, e.log + i * WORDS);
  const u64 bad = violated(s);
  if (bad) atomicOr(&e.c->bad, bad);
  if (e.permutations) atomicAdd(&e.c->unreduced, orbit(symmetries(&e), s));
}

/* Fill the table from the log. */
extern "C" __global__ void refill(engine e) {
  const u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  if (i >= e.c->count) return;
  const u64 *s = e.log + i * WORDS, h = hash(s);
#if WORDS == 1
  const u64 entry = s[0] + 1;
#else
  const u64 entry = h >> 32 << 32 | (i + 1);
#endif
  u64 slot = h & e.mask;
  for (int probe = 0; probe < LONGEST_PROBE; probe++, slot = (slot + 1) & e.mask)
    if (!atomicCAS(e.table + slot, 0ull, entry)) return;
  e.c->overflow = 1;
}

#if WORDS > 1
/* An entry is the upper half of the hash and a number: of a state in the log, or of a candidate. */
#define CANDIDATE 0x80000000ull

extern "C" __global__ void claim(engine e) {
  const u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  if (i >= e.c->waiting) return;
  const u64 *s = e.candidates + i * WORDS, h = hash(s);
  u64 slot = h & e.mask;
  e.claims[i] = ~0ull;
  for (int probe = 0; probe < LONGEST_PROBE; probe++, slot = (slot + 1) & e.mask) {
    u64 entry = e.table[slot];
    if (!entry) entry = atomicCAS(e.table + slot, 0ull, h >> 32 << 32 | CANDIDATE | (i + 1));
    if (!entry) { e.claims[i] = slot; return; }
    if (entry >> 32 != h >> 32) continue;
    const u64 *other = (entry & CANDIDATE ? e.candidates : e.log) + ((entry & (CANDIDATE - 1)) - 1) * WORDS;
    if (equal(other, s)) return;
  }
  e.c->overflow = 1;
}

extern "C" __global__ void join(engine e) {
  const u64 i = blockIdx.x * (u64)blockDim.x + threadIdx.x;
  if (i >= e.c->waiting || e.claims[i] == ~0ull) return;
  const u64 number = atomicAdd(&e.c->count, 1ull);
  if (number >= e.capacity) { e.c->overflow = 1; return; }
  const u64 *s = e.candidates + i * WORDS;
  copy(e.log + number * WORDS, s);
  e.table[e.claims[i]] = hash(s) >> 32 << 32 | (number + 1);
}
#endif

#else  /* compiled only where a run is to be shown */

/* A state of the range that leads to the target: the smallest such number goes to `match`. */
extern "C" __global__ void find_parent(engine e, u64 from, u64 to, const u64 *target) {
  const u64 i = from + blockIdx.x * (u64)blockDim.x + threadIdx.x;
  struct sink k = {&e, {0}, target, i, 0, 0, 0};
  if (i < to) {
    u64 s[WORDS];
    copy(s, e.log + i * WORDS);
    expand(s, &k);
  }
}

/* The first state of the range that violates one of the given properties, or the first that has no successor. */
extern "C" __global__ void find_bad(engine e, u64 from, u64 to, u64 properties) {
  const u64 i = from + blockIdx.x * (u64)blockDim.x + threadIdx.x;
  if (i < to && violated(e.log + i * WORDS) & properties) atomicMin(&e.c->match, i);
}

extern "C" __global__ void find_deadlock(engine e, u64 from, u64 to, const u64 *nowhere) {
  const u64 i = from + blockIdx.x * (u64)blockDim.x + threadIdx.x;
  struct sink k = {&e, {0}, nowhere, ~0ull, 0, 0, 0};
  if (i >= to) return;
  u64 s[WORDS];
  copy(s, e.log + i * WORDS);
  expand(s, &k);
  unsigned total = 0;
  for (int t = 0; t < TRANSITIONS; t++) total += k.fired[t];
  if (!total) atomicMin(&e.c->match, i);
}
#endif
