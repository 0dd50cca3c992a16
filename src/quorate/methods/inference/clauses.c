/* The strongest clauses that hold in all rows seen so far.

   A row is the set of literals that are false for one state and one assignment of the variables; a clause fails in a row
   that contains all of its literals.  Kept are the minimal clauses of at most `most` literals, and of at most `weight`
   literals and variables together, that fail in no row, one for each class under renaming of variables: its least member.
   All others that hold are weaker than one of these. */

#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef uint64_t u64;
typedef uint32_t u32;

enum { LONGEST = 8, FIRST_ROWS = 1024 };

typedef struct { int16_t literals[LONGEST]; } clause;     /* in increasing order; -1 behind the last */

typedef struct {
  int literals, words, most, weight, variables, total, present;   /* `total`: how many variables a clause may use */
  u32 *masks;                      /* the variables of each literal */
  u32 *firsts;                     /* for each variable, those that must be used where it is */
  int maps, placements;
  u32 *domains, *place_domains;
  int16_t *images, *places;
  clause *list;                    /* all clauses that ever were minimal; `alive` tells which still are */
  unsigned char *alive;
  u64 count, capacity;
  u64 *slots, size, used;          /* a hash table of numbers in the list, plus one */
  u64 *rows, row_count, row_capacity;
  int next;                        /* where to go on listing clauses: those before begin with lesser literals */
  u64 *row_slots, row_size;
  unsigned char *sound;            /* which of the first `known` clauses hold in all rows, if there are `sound_rows` of them */
  u64 known, sound_rows;
} space;

static u64 mix(u64 x) {
  x ^= x >> 32; x *= 0x9E3779B97F4A7C15ull; x ^= x >> 29; x *= 0xBF58476D1CE4E5B9ull; x ^= x >> 32;
  return x;
}

static int length(const clause *c) {
  int n = 0;
  while (n < LONGEST && c->literals[n] >= 0) n++;
  return n;
}

static void sort(int16_t *values, int n) {
  for (int i = 1; i < n; i++) {
    const int16_t v = values[i];
    int j = i;
    for (; j > 0 && values[j - 1] > v; j--) values[j] = values[j - 1];
    values[j] = v;
  }
}

static u32 variables(const space *s, const clause *c) {
  u32 used = 0;
  for (int i = 0; i < LONGEST && c->literals[i] >= 0; i++) used |= s->masks[c->literals[i]];
  return used;
}

/* The variables of ordered sorts below those that are used. */
static u32 skipped(const space *s, u32 used) {
  u32 wanted = 0;
  for (int v = 0; v < s->variables; v++) if (used >> v & 1) wanted |= s->firsts[v];
  return wanted & ~used;
}

/* Whether variables of ordered sorts are used from the first on: only then do rows tell whether a clause holds. */
static int from_first(const space *s, u32 used) { return !skipped(s, used); }

static int lower_bound(const u32 *values, int count, u32 wanted) {
  int low = 0, high = count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (values[middle] < wanted) low = middle + 1; else high = middle;
  }
  return low;
}

/* The least clause that renaming of variables makes of this one. */
static void canonical(const space *s, clause *c) {
  const int n = length(c);
  const u32 used = variables(s, c);
  const int low = lower_bound(s->domains, s->maps, used);
  clause best = *c;
  int first = 1;
  for (int m = low; m < s->maps && s->domains[m] == used; m++) {
    const int16_t *image = s->images + (u64)m * (u64)s->literals;
    clause other;
    memset(&other, 255, sizeof other);
    int whole = 1;
    for (int i = 0; i < n; i++) {
      other.literals[i] = image[c->literals[i]];
      whole &= other.literals[i] >= 0;
    }
    if (!whole) continue;
    sort(other.literals, n);
    int smaller = first;
    for (int i = 0; !first && i < n; i++)
      if (other.literals[i] != best.literals[i]) { smaller = other.literals[i] < best.literals[i]; break; }
    if (smaller) best = other;
    first = 0;
  }
  *c = best;
}

static u64 code(const clause *c) {
  u64 words[2];
  memcpy(words, c, sizeof words);
  return mix(words[0] ^ mix(words[1] + 0x9E3779B97F4A7C15ull));
}

static u64 find(const space *s, const clause *c) {
  for (u64 i = code(c) & (s->size - 1);; i = (i + 1) & (s->size - 1)) {
    if (!s->slots[i]) return ~0ull;
    if (!memcmp(s->list + s->slots[i] - 1, c, sizeof *c)) return s->slots[i] - 1;
  }
}

static void put(space *s, u64 number) {
  u64 i = code(s->list + number) & (s->size - 1);
  while (s->slots[i]) i = (i + 1) & (s->size - 1);
  s->slots[i] = number + 1;
}

/* A clause that was refuted while a stronger one was still there may come back, to be weakened in its turn. */
static void add(space *s, const clause *c) {
  const u64 known = find(s, c);
  if (known != ~0ull) {
    s->alive[known] = 1;
    return;
  }
  if (s->count == s->capacity) {
    s->capacity *= 2;
    s->list = realloc(s->list, s->capacity * sizeof *s->list);
    s->alive = realloc(s->alive, s->capacity);
  }
  if (2 * s->count >= s->size) {
    free(s->slots);
    s->size *= 4;
    s->slots = calloc(s->size, 8);
    for (u64 i = 0; i < s->count; i++) put(s, i);
  }
  s->list[s->count] = *c;
  s->alive[s->count] = 1;
  put(s, s->count++);
}

static void *copied(const void *data, u64 bytes) { return memcpy(malloc(bytes + 8), data, bytes); }

space *space_new(int literals, int words, int most, int weight, int variables, int total, int present,
                 const u32 *masks, const u32 *firsts, int maps, const u32 *domains, const int16_t *images,
                 int placements, const u32 *place_domains, const int16_t *places) {
  space *s = calloc(1, sizeof *s);
  s->literals = literals;
  s->words = words;
  s->most = most;
  s->weight = weight;
  s->variables = variables;
  s->total = total;
  s->present = present;
  s->masks = copied(masks, (u64)literals * 4);
  s->firsts = copied(firsts, (u64)variables * 4);
  s->maps = maps;
  s->domains = copied(domains, (u64)maps * 4);
  s->images = copied(images, (u64)maps * (u64)literals * 2);
  s->placements = placements;
  s->place_domains = copied(place_domains, (u64)placements * 4);
  s->places = copied(places, (u64)placements * (u64)literals * 2);
  s->capacity = 1024;
  s->list = malloc(s->capacity * sizeof *s->list);
  s->alive = malloc(s->capacity);
  s->size = 4096;
  s->slots = calloc(s->size, 8);
  s->row_capacity = 1024;
  s->rows = malloc(s->row_capacity * (u64)words * 8);
  s->row_size = 4096;
  s->row_slots = calloc(s->row_size, 8);
  return s;
}

void space_free(space *s) {
  free(s->masks); free(s->firsts); free(s->domains); free(s->images); free(s->place_domains); free(s->places);
  free(s->list); free(s->alive); free(s->slots); free(s->rows);
  free(s->row_slots); free(s->sound); free(s);
}

/* -- rows ----------------------------------------------------------------------------------------------------- */

static u64 row_code(const space *s, const u64 *row) {
  u64 h = 0;
  for (int i = 0; i < s->words; i++) h = mix(h ^ mix(row[i] + (u64)i * 0x9E3779B97F4A7C15ull));
  return h;
}

/* Keep a row; returns whether it is new. */
static int keep(space *s, const u64 *row) {
  if (2 * s->row_count >= s->row_size) {
    free(s->row_slots);
    s->row_size *= 4;
    s->row_slots = calloc(s->row_size, 8);
    for (u64 r = 0; r < s->row_count; r++) {
      u64 i = row_code(s, s->rows + r * (u64)s->words) & (s->row_size - 1);
      while (s->row_slots[i]) i = (i + 1) & (s->row_size - 1);
      s->row_slots[i] = r + 1;
    }
  }
  u64 i = row_code(s, row) & (s->row_size - 1);
  for (; s->row_slots[i]; i = (i + 1) & (s->row_size - 1))
    if (!memcmp(s->rows + (s->row_slots[i] - 1) * (u64)s->words, row, (u64)s->words * 8)) return 0;
  if (s->row_count == s->row_capacity) {
    s->row_capacity *= 2;
    s->rows = realloc(s->rows, s->row_capacity * (u64)s->words * 8);
  }
  memcpy(s->rows + s->row_count * (u64)s->words, row, (u64)s->words * 8);
  s->row_slots[i] = ++s->row_count;
  return 1;
}

u64 space_keep(space *s, const u64 *rows, u64 count) {
  u64 new = 0;
  for (u64 r = 0; r < count; r++) new += (u64)keep(s, rows + r * (u64)s->words);
  return new;
}

static int fails(const clause *c, const u64 *row) {
  for (int i = 0; i < LONGEST && c->literals[i] >= 0; i++)
    if (!(row[c->literals[i] / 64] >> c->literals[i] % 64 & 1)) return 0;
  return 1;
}

/* Rows, turned: for every literal, the rows it is in, as bits. */
typedef struct { u64 *bits, width; } columns;

/* Those of `some` rows, evenly spread over all. */
static columns columns_of(const space *s, const u64 *rows, u64 count, u64 some) {
  const u64 width = (some + 63) / 64;
  const columns c = {calloc((u64)s->literals * width + 1, 8), width};
  for (u64 i = 0; i < some; i++) {
    const u64 *row = rows + i * count / some * (u64)s->words;
    for (int w = 0; w < s->words; w++)
      for (u64 left = row[w]; left; left &= left - 1)
        c.bits[(u64)(w * 64 + __builtin_ctzll(left)) * width + i / 64] |= 1ull << i % 64;
  }
  return c;
}

/* Among the rows of a word, those in which a clause fails. */
static u64 common(const columns *c, const int16_t *literals, u64 word) {
  u64 all = ~0ull;
  for (int i = 0; i < LONGEST && literals[i] >= 0; i++) all &= c->bits[(u64)literals[i] * c->width + word];
  return all;
}

/* The first row in which a clause fails, if there is one. */
static u64 first_failure(const columns *c, const int16_t *literals) {
  for (u64 word = 0; word < c->width; word++) {
    const u64 all = common(c, literals, word);
    if (all) return word * 64 + (u64)__builtin_ctzll(all);
  }
  return ~0ull;
}

/* The rows of states.  A state is a line of bytes, the values of all symbols.  `code` says what each term is: a variable
   (-1, its column), an element (-2, it), or an entry of a table (number of arguments, where the table starts, and a term and
   a stride for each argument); and then, with its number in front, each atom: an entry, or an equation (-1, two terms).
   What speaks of a variable that has no value (-1) is neither true nor false. */
static int place(const int32_t **code, int n, const int32_t *values, int32_t *at) {
  int known = 1;
  *at = *(*code)++;
  for (int i = 0; i < n; i++) {
    const int32_t value = values[*(*code)++], stride = *(*code)++;
    known &= value >= 0;
    *at += value * stride;
  }
  return known;
}

static void set(u64 *row, int32_t literal) { row[literal / 64] |= 1ull << literal % 64; }

typedef struct { int32_t number, at; } entry;

/* What the terms are in one state. */
static const int32_t *evaluate(const int32_t *code, int terms, const uint8_t *state, const int32_t *assignment,
                               int32_t *values) {
  for (int t = 0; t < terms; t++) {
    const int32_t n = *code++;
    int32_t at;
    values[t] = -1;
    if (n == -1) values[t] = assignment[*code++];
    else if (n == -2) values[t] = *code++;
    else if (place(&code, n, values, &at)) values[t] = state[at];
  }
  return code;
}

/* Where the atoms are looked up depends on what the terms are, which is mostly the same for one state after the other. */
void rows_of(int count, int width, const uint8_t *states, int assignments, int columns, const int32_t *table, int terms,
             int atoms, const int32_t *code, int words, u64 *rows) {
  int32_t *values = malloc(((u64)terms + 1) * sizeof *values), *last = malloc(((u64)terms + 1) * sizeof *last);
  entry *entries = malloc(((u64)atoms + 1) * sizeof *entries);
  u64 *base = malloc(((u64)words + 1) * 8);
  for (int a = 0; a < assignments; a++) {
    int n_entries = 0;
    for (int s = 0; s < count; s++) {
      const uint8_t *state = states + (u64)s * (u64)width;
      const int32_t *c = evaluate(code, terms, state, table + (u64)a * (u64)columns, values);
      if (s == 0 || memcmp(values, last, (u64)terms * sizeof *values)) {
        memcpy(last, values, (u64)terms * sizeof *values);
        memset(base, 0, (u64)words * 8);
        n_entries = 0;
        for (int i = 0; i < atoms; i++) {
          const int32_t number = *c++, n = *c++;
          if (n == -1) {
            const int32_t left = values[*c++], right = values[*c++];
            if (left >= 0 && right >= 0) set(base, 2 * number + (left == right));
          } else if (place(&c, n, values, &entries[n_entries].at)) entries[n_entries++].number = number;
        }
      }
      u64 *false_ones = rows + ((u64)s * (u64)assignments + (u64)a) * (u64)words;
      memcpy(false_ones, base, (u64)words * 8);
      for (int i = 0; i < n_entries; i++) set(false_ones, 2 * entries[i].number + (state[entries[i].at] != 0));
    }
  }
  free(base);
  free(entries);
  free(last);
  free(values);
}

/* -- all minimal clauses, from the rows kept so far ------------------------------------------------------------- */

typedef struct { space *s; columns rows; u64 *stack; clause c; u64 looks; double until; int late; } walk;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static clause without(const clause *c, int d) {
  clause rest;
  memset(&rest, 255, sizeof rest);
  for (int i = 0, n = 0; i < LONGEST && c->literals[i] >= 0; i++) if (i != d) rest.literals[n++] = c->literals[i];
  return rest;
}

/* Whether no literal can go.  Where one goes that only says that a variable is there, the others must mean the same
   without it; where another goes, its variables may still be said to be there, if that leaves the clause short enough. */
static int minimal(const walk *w, const clause *c) {
  for (int d = 0; d < length(c); d++) {
    clause rest = without(c, d);
    if (c->literals[d] < 2 * w->s->present) canonical(w->s, &rest);
    const u32 used = variables(w->s, &rest), there = skipped(w->s, used);
    const int n = length(&rest) + __builtin_popcount(there);
    if (n > w->s->most || n + __builtin_popcount(used | there) > w->s->weight) continue;
    if (length(&rest) && first_failure(&w->rows, rest.literals) == ~0ull) return 0;
  }
  return 1;
}

/* Whether exchanging its variables makes of these literals some that come earlier: then no clause that begins with them is
   the least of its class. */
static int comes_later(const space *s, const clause *c, int n) {
  const u32 used = variables(s, c);
  for (int m = lower_bound(s->domains, s->maps, used); m < s->maps && s->domains[m] == used; m++) {
    const int16_t *image = s->images + (u64)m * (u64)s->literals;
    int16_t other[LONGEST];
    u32 there = 0;
    int whole = 1;
    for (int i = 0; i < n && whole; i++) {
      other[i] = image[c->literals[i]];
      whole = other[i] >= 0;
      if (whole) there |= s->masks[other[i]];
    }
    if (!whole || there != used) continue;
    sort(other, n);
    for (int i = 0; i < n; i++)
      if (other[i] != c->literals[i]) {
        if (other[i] < c->literals[i]) return 1;
        break;
      }
  }
  return 0;
}

static void descend(walk *w, int depth, int from) {
  const u64 width = w->rows.width, *above = w->stack + (u64)depth * width;
  if (!(++w->looks & 1023) && now() > w->until) w->late = 1;
  for (int l = from; l < w->s->literals && !w->late; l++) {
    if (!depth) w->s->next = l;
    if (l < 2 * w->s->present && !(l & 1)) continue;
    if (depth && w->c.literals[depth - 1] == (l ^ 1)) continue;
    const u64 *column = w->rows.bits + (u64)l * width;
    u64 i = 0;
    while (i < width && !(above[i] & column[i])) i++;
    w->c.literals[depth] = (int16_t)l;
    const u32 used = variables(w->s, &w->c);
    if (__builtin_popcount(used) > w->s->total || depth + 1 + __builtin_popcount(used) > w->s->weight) continue;
    if (i == width && from_first(w->s, used)) {
      if (minimal(w, &w->c)) {
        clause c = w->c;
        canonical(w->s, &c);
        add(w->s, &c);
      }
    } else if (depth + 1 < w->s->most && !comes_later(w->s, &w->c, depth + 1)) {
      u64 *next = w->stack + (u64)(depth + 1) * width;
      for (u64 j = 0; j < width; j++) next[j] = above[j] & column[j];
      descend(w, depth + 1, l + 1);
    }
  }
  w->c.literals[depth] = -1;
}

/* -- weakening ------------------------------------------------------------------------------------------------ */

static int holds(const space *s, clause *c) {
  canonical(s, c);
  const u64 known = find(s, c);
  return known != ~0ull && s->alive[known];
}

/* Whether a clause that is alive implies this one: part of it, renamed, perhaps with a variable said to be there. */
static int implied(const space *s, const clause *c) {
  const int n = length(c);
  const u32 used = variables(s, c);
  for (unsigned part = 1; part < (1u << n); part++) {
    clause d;
    memset(&d, 255, sizeof d);
    int m = 0;
    for (int i = 0; i < n; i++) if (part >> i & 1) d.literals[m++] = c->literals[i];
    clause e = d;
    if (holds(s, &d)) return 1;
    const u32 missing = used & ~variables(s, &e);
    for (int p = 0; missing && p < s->present && m < n; p++)
      if (s->masks[2 * p] & missing) e.literals[m++] = (int16_t)(2 * p + 1);
    sort(e.literals, m);
    if (missing && holds(s, &e)) return 1;
  }
  return 0;
}

/* A clause with one more literal; what only says that a variable is there goes where another literal does.  Returns
   whether the clause is short enough. */
static int with_literal(const space *s, const clause *old, int l, clause *c) {
  const int n = length(old);
  u32 used = l < 2 * s->present ? 0 : s->masks[l];
  for (int i = 0; i < n; i++) if (old->literals[i] >= 2 * s->present) used |= s->masks[old->literals[i]];
  memset(c, 255, sizeof *c);
  int16_t chosen[LONGEST + 1];
  int m = 0;
  for (int i = 0; i <= n; i++) {
    const int16_t k = i < n ? old->literals[i] : (int16_t)l;
    if (k >= 2 * s->present || !(s->masks[k] & used)) chosen[m++] = k;
  }
  if (m > s->most) return 0;
  sort(chosen, m);
  memcpy(c->literals, chosen, (size_t)m * sizeof *chosen);
  return m + __builtin_popcount(variables(s, c)) <= s->weight;
}

/* All clauses with one more literal that do not fail in the row for that reason; the variables may move up to make room
   for one below.  One that does fail is of use where it has a new variable of an ordered sort: with yet another variable
   in between, it speaks of other elements. */
static void weaken(space *s, u64 number, const u64 *row) {
  const clause old = s->list[number];
  const int n = length(&old);
  const u32 used = variables(s, &old);
  u32 ordered = 0;
  for (int p = 0; p < s->present; p++) ordered |= s->masks[2 * p];
  s->alive[number] = 0;
  if (n == s->most && old.literals[0] >= 2 * s->present) return;
  for (int m = lower_bound(s->place_domains, s->placements, used); m < s->placements && s->place_domains[m] == used; m++) {
    const int16_t *place = s->places + (u64)m * (u64)s->literals;
    clause moved = old;
    int whole = 1;
    for (int i = 0; i < n; i++) whole &= (moved.literals[i] = place[old.literals[i]]) >= 0;
    if (!whole) continue;
    const u32 there = variables(s, &moved);
    for (int l = 0; l < s->literals; l++) {
      if (l < 2 * s->present && (!(l & 1) || s->masks[l] & there)) continue;
      if (!from_first(s, there | s->masks[l]) || __builtin_popcount(there | s->masks[l]) > s->total) continue;
      int fits = 1;
      for (int i = 0; i < n; i++) fits &= moved.literals[i] / 2 != l / 2;
      if (!fits) continue;
      clause c;
      if (!with_literal(s, &moved, l, &c)) continue;
      if (fails(&c, row)) {
        const int is_last = length(&c) == s->most && c.literals[0] >= 2 * s->present;
        if (is_last || !(s->masks[l] & ordered & ~there)) continue;
      }
      canonical(s, &c);
      if (!implied(s, &c)) add(s, &c);
    }
  }
}

/* -- both ----------------------------------------------------------------------------------------------------- */

/* All minimal clauses for some of the rows are listed; then they are weakened until they hold in all.  Returns whether
   there was time enough: what is found is incomplete otherwise, and one can go on if there are no new rows. */
int space_enumerate(space *s, double seconds) {
  walk w;
  w.s = s;
  w.looks = 0;
  w.late = 0;
  w.until = now() + seconds;
  const u64 some = s->row_count < FIRST_ROWS ? s->row_count : FIRST_ROWS;
  w.rows = columns_of(s, s->rows, s->row_count, some);
  w.stack = calloc(((u64)s->most + 1) * w.rows.width + 1, 8);
  for (u64 r = 0; r < some; r++) w.stack[r / 64] |= 1ull << r % 64;
  memset(&w.c, 255, sizeof w.c);
  if (some && s->next < s->literals) descend(&w, 0, s->next);
  if (!w.late) s->next = s->literals;
  free(w.rows.bits);
  free(w.stack);
  w.rows = columns_of(s, s->rows, s->row_count, s->row_count);
  if (s->sound_rows != s->row_count) s->known = 0;
  s->sound_rows = s->row_count;
  for (int again = 1; again && !w.late;) {
    again = 0;
    for (u64 i = 0; i < s->count && !w.late; i++) {
      if (i >= s->known) {
        s->sound = realloc(s->sound, 2 * s->count);
        memset(s->sound + s->known, 0, 2 * s->count - s->known);
        s->known = 2 * s->count;
      }
      if (!s->alive[i] || s->sound[i]) continue;
      const u64 row = first_failure(&w.rows, s->list[i].literals);
      s->sound[i] = row == ~0ull;
      if (row != ~0ull) {
        weaken(s, i, s->rows + row * (u64)s->words);
        again = 1;
      }
      if (!(i & 255) && now() > w.until) w.late = 1;
    }
  }
  free(w.rows.bits);
  return !w.late;
}

/* New rows: clauses that fail are replaced by the weaker ones that do not.  Returns how many failed. */
u64 space_add(space *s, const u64 *rows, u64 count) {
  u64 *new = malloc(count * (u64)s->words * 8 + 8), fresh = 0, failed = 0;
  for (u64 r = 0; r < count; r++)
    if (keep(s, rows + r * (u64)s->words))
      memcpy(new + fresh++ * (u64)s->words, rows + r * (u64)s->words, (u64)s->words * 8);
  const columns c = columns_of(s, new, fresh, fresh);
  for (u64 before = 1; before;) {
    before = 0;
    for (u64 i = 0; i < s->count; i++) {
      if (!s->alive[i]) continue;
      const u64 row = first_failure(&c, s->list[i].literals);
      if (row != ~0ull) {
        weaken(s, i, new + row * (u64)s->words);
        before++;
      }
    }
    failed += before;
  }
  free(c.bits);
  free(new);
  return failed;
}

u64 space_count(const space *s) { return s->count; }
u64 space_row_count(const space *s) { return s->row_count; }
const clause *space_list(const space *s) { return s->list; }
const unsigned char *space_alive(const space *s) { return s->alive; }

/* Clauses that fail in one of the given rows, the shortest first: writes number of clause and row, returns how many. */
u64 space_failing(const space *s, const u64 *rows, u64 count, u64 most, u64 *found) {
  u64 *by_length = malloc((u64)s->most * most * 16 + 16), counts[LONGEST + 1] = {0}, n = 0;
  int longest = s->most;
  const columns c = columns_of(s, rows, count, count);
  for (u64 i = 0; i < s->count; i++) {
    if (!s->alive[i] || (longest < LONGEST && s->list[i].literals[longest] >= 0)) continue;
    const u64 row = first_failure(&c, s->list[i].literals);
    if (row == ~0ull) continue;
    const int size = length(s->list + i);
    if (counts[size] == most) continue;
    u64 *pair = by_length + 2 * ((u64)(size - 1) * most + counts[size]++);
    pair[0] = i;
    pair[1] = row;
    u64 enough = 0;
    for (int k = 1; k <= longest; k++)
      if ((enough += counts[k]) >= most) longest = k;
  }
  for (int size = 1; size <= s->most; size++)
    for (u64 i = 0; i < counts[size] && n < most; i++, n++)
      memcpy(found + 2 * n, by_length + 2 * ((u64)(size - 1) * most + i), 16);
  free(c.bits);
  free(by_length);
  return n;
}

/* The same for some clauses only. */
u64 space_failing_among(const space *s, const u64 *rows, u64 count, const u64 *numbers, u64 most, u64 *found) {
  u64 n = 0;
  const columns c = columns_of(s, rows, count, count);
  for (u64 i = 0; i < most; i++) {
    const u64 row = s->alive[numbers[i]] ? first_failure(&c, s->list[numbers[i]].literals) : ~0ull;
    if (row == ~0ull) continue;
    found[2 * n] = numbers[i];
    found[2 * n + 1] = row;
    n++;
  }
  free(c.bits);
  return n;
}

/* Which of the rows violate a clause that is alive. */
void space_fails(const space *s, const u64 *rows, u64 count, unsigned char *result) {
  const columns c = columns_of(s, rows, count, count);
  u64 *failing = calloc(c.width + 1, 8);
  for (u64 i = 0; i < s->count; i++)
    for (u64 j = 0; s->alive[i] && j < c.width; j++) failing[j] |= common(&c, s->list[i].literals, j);
  for (u64 r = 0; r < count; r++) result[r] = failing[r / 64] >> r % 64 & 1;
  free(failing);
  free(c.bits);
}
