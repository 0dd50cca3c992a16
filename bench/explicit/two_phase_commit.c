/* Two-phase commit of n participants, breadth-first, written by hand: the yardstick for the generated engine.

   The same transition system as protocols/relational/two_phase_commit.ivy with participant=n: for each relation one bit per
   participant, then the two verdicts of the coordinator.  All participants are looked at together, as masks.  One core; a
   table of 2^LOG words with linear probing, sized in advance; successors are generated in batches and their slots prefetched.

   cc -O2 two_phase_commit.c && ./a.out N LOG */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

typedef uint64_t u64;
enum { BATCH = 64, MOST = 12 };
static u64 *table, *queue, mask, count;
static int shift;

static inline u64 home(u64 s) {
  s ^= s >> 32; s *= 0x9E3779B97F4A7C15ull; s ^= s >> 29; s *= 0xBF58476D1CE4E5B9ull;
  return s >> shift;
}

static inline void insert(u64 s, u64 i) {
  for (;; i = (i + 1) & mask) {
    if (table[i] == s + 1) return;
    if (!table[i]) break;
  }
  table[i] = s + 1;
  queue[count++] = s;
}

static void *space(u64 bytes) {
  void *p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) exit(2);
  madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

static u64 states[BATCH * 5 * MOST], homes[BATCH * 5 * MOST];
static int batched;

static inline void reach(u64 next) {
  states[batched] = next;
  homes[batched] = home(next);
  __builtin_prefetch(table + homes[batched++], 1, 0);
}

/* For each of the participants: a successor in which the bits of `set`, given for participant 0, are set for it. */
static inline void each(u64 participants, u64 s, u64 set) {
  for (; participants; participants &= participants - 1) reach(s | set << __builtin_ctzll(participants));
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 5, log = argc > 2 ? atoi(argv[2]) : 24;
  if (n < 1 || n > MOST) return 2;
  mask = ((u64)1 << log) - 1;
  shift = 64 - log;
  table = space((mask + 1) * 8);
  queue = space((mask + 1) * 8);
  const u64 all = ((u64)1 << n) - 1, one = 1;
  const u64 CRASHED = one, YES = one << n, NO = one << 2 * n, COMMITTED = one << 3 * n, ABORTED = one << 4 * n;
  const u64 COMMIT = one << 5 * n, ABORT = COMMIT << 1;
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  u64 transitions = 0, errors = 0;
  insert(0, home(0));
  for (u64 head = 0; head < count;) {
    batched = 0;
    const u64 end = head + BATCH < count ? head + BATCH : count;
    for (; head < end; head++) {
      const u64 s = queue[head];
      const u64 crashed = s & all, yes = s >> n & all, no = s >> 2 * n & all, committed = s >> 3 * n & all;
      const u64 aborted = s >> 4 * n & all, live = ~crashed & all, undecided = live & ~yes & ~no;
      errors += (committed && aborted) | (committed && yes != all) | (aborted && !(no | crashed));
      each(undecided, s, YES);
      each(undecided, s, NO | ABORTED);
      each(live, s, CRASHED);
      if (s & COMMIT) {
        each(live, s, COMMITTED);
      } else if (s & ABORT) {
        each(live, s, ABORTED);
      } else {
        if (yes == all) reach(s | COMMIT);
        for (u64 causes = no | crashed; causes; causes &= causes - 1) reach(s | ABORT);
      }
    }
    transitions += (u64)batched;
    for (int j = 0; j < batched; j++) insert(states[j], homes[j]);
  }
  clock_gettime(CLOCK_MONOTONIC, &b);
  const double seconds = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
  printf("states %lu transitions %lu errors %lu seconds %.3f rate %.0f\n", count, transitions, errors, seconds, (double)count / seconds);
}
