/* What both engines share: hashing, and symmetry.  It stands behind the model, which has `arrange` where PEERS is empty. */

FUNCTION u64 mix(u64 x) {
  x ^= x >> 32; x *= 0x9E3779B97F4A7C15ull; x ^= x >> 29; x *= 0xBF58476D1CE4E5B9ull; x ^= x >> 32;
  return x;
}

#if WORDS == 1
/* Both halves of one product: all bits of the state reach the upper and the lower bits. */
FUNCTION u64 hash(const u64 *s) {
  const u64 x = s[0] ^ 0x2D358DCCAA6C78A5ull, factor = 0x9E3779B97F4A7C15ull;
  return x * factor ^ UPPER_HALF(x, factor);
}
#else
FUNCTION u64 hash(const u64 *s) {
  u64 h = mix(s[0]);
  for (int i = 1; i < WORDS; i++) h = mix(h ^ mix(s[i] + (u64)i * 0x9E3779B97F4A7C15ull));
  return h;
}
#endif

FUNCTION int equal(const u64 *a, const u64 *b) {
  for (int i = 0; i < WORDS; i++) if (a[i] != b[i]) return 0;
  return 1;
}

FUNCTION int less(const u64 *a, const u64 *b) {
  for (int i = 0; i < WORDS; i++) if (a[i] != b[i]) return a[i] < b[i];
  return 0;
}

FUNCTION void copy(u64 *to, const u64 *from) { for (int i = 0; i < WORDS; i++) to[i] = from[i]; }

//PEERS//

/* The symmetries of each world: its permutations are `members[groups[world]]` and up to `groups[world + 1]`, without the
   identity; a permutation has a table for each byte of a state, with the words that each value of the byte contributes. */
typedef struct {
  const u64 *tables;               /* 0 where no symmetry is used */
  const unsigned *groups, *members;
} symmetry;

FUNCTION void permute(symmetry y, unsigned number, const u64 *s, u64 *image) {
  const u64 *table = y.tables + (u64)number * (8 * WORDS * 256 * WORDS);
  for (int i = 0; i < WORDS; i++) image[i] = 0;
  for (int byte = 0; byte < 8 * WORDS; byte++) {
    const u64 *row = table + ((u64)byte * 256 + (s[byte / 8] >> byte % 8 * 8 & 255)) * WORDS;
    for (int i = 0; i < WORDS; i++) image[i] |= row[i];
  }
}

/* Replace a state by the one that stands for all that the symmetries of its world lead to: blocks sorted or
   peers in order, then the smallest. */
RARE void canonical(symmetry y, u64 *s) {
  u64 original[WORDS], image[WORDS];
  copy(original, s);
  arrange(s);
  const unsigned world = WORLD_OF(original);
  for (unsigned m = y.groups[world]; m < y.groups[world + 1]; m++) {
    permute(y, y.members[m], original, image);
    arrange(image);
    if (less(image, s)) copy(s, image);
  }
}

/* How many states a sorted state stands for: the size of its orbit. */
RARE u64 orbit(symmetry y, const u64 *s) {
  const unsigned world = WORLD_OF(s);
  u64 image[WORDS], fixed = 1;
  for (unsigned m = y.groups[world]; m < y.groups[world + 1]; m++) {
    permute(y, y.members[m], s, image);
    arrange(image);
    fixed += (u64)equal(image, s);
  }
  return (y.groups[world + 1] - y.groups[world] + 1) / fixed * arrangements(s);
}
