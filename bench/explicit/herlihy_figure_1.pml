/* Wait-free consensus from compare-and-swap, as published for Spin: Herlihy's protocol with all inputs, at the steps of
   the published model (choosing a branch is a step of its own, and a process ends).

   spin -a -DN=4 herlihy_figure_1.pml && cc -O2 -DSAFETY -DCOLLAPSE -o pan pan.c && ./pan */
#ifndef N
#define N 5
#endif

byte r;
byte ghost;

inline compare_and_swap(r, old, new, result) {
  atomic {
    previous = r;
    if
    :: previous == old -> r = new
    :: else -> skip
    fi;
    result = previous
  }
}

proctype Process(byte input) {
  byte previous, first, decision;
  compare_and_swap(r, 0, input, first);
  if
  :: first == 0 -> decision = input
  :: else -> decision = first
  fi;
  ghost = decision;
  assert(ghost == decision)
}

init {
  byte v, i;
  atomic {
    for (i : 1 .. N) {
      select(v : 1 .. N);
      run Process(v)
    }
  }
}
