/* Compare-and-swap consensus of n processes, breadth-first, written by hand: the yardstick for the generated engine.

   The same transition system as protocols/relational/cas_consensus.ivy with process=n, value=n+1: a register (4 bits) and,
   for each process, its estimate (4 bits), what it found (4 bits) and where it is (2 bits).  One core; a table of 2^LOG
   words with linear probing, sized in advance; successors are generated in batches and their slots prefetched.

   cc -O2 cas_consensus.c && ./a.out N LOG */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>

typedef uint64_t u64;
enum { BATCH = 64 };
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

static int disagree(u64 s, int n) {
  u64 first = 0;
  for (int p = 0; p < n; p++) {
    const u64 w = s >> (4 + 10 * p) & 1023;
    if (w >> 8 < 2) continue;
    if (first && (w & 15) != first) return 1;
    first = w & 15;
  }
  return 0;
}

static void *space(u64 bytes) {
  void *p = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) exit(2);
  madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 5, log = argc > 2 ? atoi(argv[2]) : 24;
  mask = ((u64)1 << log) - 1;
  shift = 64 - log;
  table = space((mask + 1) * 8);
  queue = space((mask + 1) * 8);
  struct timespec a, b;
  clock_gettime(CLOCK_MONOTONIC, &a);
  u64 inputs = 1, transitions = 0, errors = 0;
  for (int p = 0; p < n; p++) inputs *= (u64)n;
  for (u64 k = 0; k < inputs; k++) {
    u64 s = 0, rest = k;
    for (int p = 0; p < n; p++, rest /= (u64)n) s |= (1 + rest % (u64)n) << (4 + 10 * p);
    insert(s, home(s));
  }
  static u64 states[BATCH * 16], homes[BATCH * 16];
  for (u64 head = 0; head < count;) {
    int m = 0;
    const u64 end = head + BATCH < count ? head + BATCH : count;
    for (; head < end; head++) {
      const u64 s = queue[head], r = s & 15;
      errors += disagree(s, n);
      for (int p = 0; p < n; p++) {
        const int at = 4 + 10 * p;
        const u64 w = s >> at & 1023, v = w & 15, found = w >> 4 & 15, rest = s & ~(1023ull << at);
        u64 next;
        switch (w >> 8) {
          case 0: next = (rest & ~15ull) | (v | r << 4 | 1 << 8) << at | (r ? r : v); break;
          case 1: next = rest | ((found ? found : v) | 2 << 8) << at; break;
          case 2: next = rest | (v | 3 << 8) << at; break;
          default: continue;
        }
        states[m] = next;
        homes[m] = home(next);
        __builtin_prefetch(table + homes[m++], 1, 0);
      }
    }
    transitions += (u64)m;
    for (int j = 0; j < m; j++) insert(states[j], homes[j]);
  }
  clock_gettime(CLOCK_MONOTONIC, &b);
  const double seconds = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
  printf("states %lu transitions %lu errors %lu seconds %.3f rate %.0f\n", count, transitions, errors, seconds, (double)count / seconds);
}
