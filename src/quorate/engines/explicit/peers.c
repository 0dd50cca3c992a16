/* Things that are alike and that states speak of: one state for all that renaming them leads to.  See `peers.py`.

   The emitted model says where the fields of each thing lie, as word, shift and bits: `own_places`, `name_places`,
   `about_places`; and which bits of a state are none of these, `rest`. */

FUNCTION unsigned peer_read(const u64 *s, const unsigned char *place) {
  return (unsigned)(s[place[0]] >> place[1]) & ((1u << place[2]) - 1);
}

FUNCTION void peer_write(u64 *s, const unsigned char *place, u64 value) { s[place[0]] |= value << place[1]; }

typedef struct {
  unsigned char own[PEERS][OWN + 1];
  unsigned tie[PEERS][PEERS];      /* what a thing says about another: a bit for each field about it or that may name it */
  u64 look[PEERS];                 /* what can be said of a thing without names */
  unsigned char like[PEERS];       /* the first thing that it can change places with, and nothing changes */
  unsigned char from[PEERS];       /* which thing lies at each place */
} peers;

FUNCTION u64 peer_both(const peers *p, int i, int j) { return (u64)p->tie[i][j] | (u64)p->tie[j][i] << 32; }

RARE void peer_look(peers *p, const u64 *s) {
  for (int i = 0; i < PEERS; i++) {
    u64 look = 1;
    for (int f = 0; f < OWN; f++) look = mix(look + (p->own[i][f] = (unsigned char)peer_read(s, own_places[i][f])));
    p->look[i] = look;
    for (int j = 0; j < PEERS; j++) {
      unsigned tie = 0;
      for (int f = 0; f < ABOUT; f++) tie = tie << 1 | peer_read(s, about_places[i][j][f]);
      for (int f = 0; f < NAMES; f++) tie = tie << 1 | (peer_read(s, name_places[i][f]) == (unsigned)j + 1);
      p->tie[i][j] = tie;
    }
  }
  for (int round = 0; round < 2; round++) {
    u64 finer[PEERS];
    for (int i = 0; i < PEERS; i++) {
      u64 look = p->look[i] + mix(p->tie[i][i]);
      for (int j = 0; j < PEERS; j++) if (j != i) look += mix(peer_both(p, i, j) ^ mix(p->look[j]));
      finer[i] = mix(look);
    }
    for (int i = 0; i < PEERS; i++) p->look[i] = finer[i];
  }
}

FUNCTION int peer_twins(const peers *p, int i, int j) {
  if (p->look[i] != p->look[j] || p->tie[i][i] != p->tie[j][j] || p->tie[i][j] != p->tie[j][i]) return 0;
  for (int f = 0; f < OWN; f++) if (p->own[i][f] != p->own[j][f]) return 0;
  for (int r = 0; r < PEERS; r++) if (r != i && r != j && peer_both(p, i, r) != peer_both(p, j, r)) return 0;
  return 1;
}

FUNCTION void peer_image(const peers *p, const u64 *s, u64 *image) {
  for (int i = 0; i < WORDS; i++) image[i] = s[i] & rest[i];
  for (int i = 0; i < PEERS; i++) {
    const int old = p->from[i];
    for (int f = 0; f < OWN; f++) peer_write(image, own_places[i][f], p->own[old][f]);
    for (int j = 0; j < PEERS; j++) {
      const unsigned tie = p->tie[old][p->from[j]];
      for (int f = 0; f < ABOUT; f++) peer_write(image, about_places[i][j][f], tie >> (NAMES + ABOUT - 1 - f) & 1);
      for (int f = 0; f < NAMES; f++) peer_write(image, name_places[i][f], (tie >> (NAMES - 1 - f) & 1) ? (u64)j + 1 : 0);
    }
  }
}

/* The smallest image of a state among those with the things in the order of their looks, into `best`; returns how many ways
   of renaming lead to it. */
RARE u64 peer_settle(const u64 *s, u64 *best) {
  peers p;
  unsigned char order[PEERS], end[PEERS], taken[PEERS];
  u64 ways = 1, image[WORDS], same = 0;
  peer_look(&p, s);
  for (int i = 0; i < PEERS; i++) {
    int j = i;
    for (; j > 0 && p.look[order[j - 1]] > p.look[i]; j--) order[j] = order[j - 1];
    order[j] = (unsigned char)i;
  }
  for (int i = PEERS - 1; i >= 0; i--)
    end[i] = i + 1 < PEERS && p.look[order[i]] == p.look[order[i + 1]] ? end[i + 1] : (unsigned char)(i + 1);
  for (int i = 0; i < PEERS; i++) {
    u64 alike = 1;
    p.like[i] = (unsigned char)i;
    for (int j = i - 1; j >= 0; j--) if (peer_twins(&p, i, j)) { p.like[i] = (unsigned char)j; alike++; }
    ways *= alike;
    taken[i] = 0;
  }
  /* each place in turn gets a thing of its group; of twins the first that is left */
  int place = 0, next[PEERS], group[PEERS];
  for (int i = 0; i < PEERS; i++) group[i] = i && end[i] == end[i - 1] ? group[i - 1] : i;
  next[0] = 0;
  while (place >= 0) {
    if (place == PEERS) {
      peer_image(&p, s, image);
      if (!same || less(image, best)) { copy(best, image); same = 1; }
      else same += (u64)equal(image, best);
      taken[p.from[--place]] = 0;
      continue;
    }
    int found = 0;
    for (int at = next[place]; at < end[place] && !found; at++) {
      const int thing = order[at];
      int first = !taken[thing];
      for (int i = group[place]; i < end[place]; i++)
        first &= taken[order[i]] || order[i] >= thing || p.like[order[i]] != p.like[thing];
      if (first) {
        found = 1;
        next[place] = at + 1;
        p.from[place] = (unsigned char)thing;
        taken[thing] = 1;
      }
    }
    if (found) {
      if (++place < PEERS) next[place] = group[place];
    } else if (--place >= 0) taken[p.from[place]] = 0;
  }
  return ways * same;
}

FUNCTION void arrange(u64 *s) {
  u64 best[WORDS];
  peer_settle(s, best);
  copy(s, best);
}

FUNCTION u64 arrangements(const u64 *s) {
  u64 best[WORDS], all = 1;
  for (u64 i = 2; i <= PEERS; i++) all *= i;
  return all / peer_settle(s, best);
}
