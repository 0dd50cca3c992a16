/* Compare-and-swap consensus of N processes, for Spin: the protocol of protocols/relational/cas_consensus.ivy with
   process=N, value=N+1, one step of a process for one step there.  A process keeps its estimate and what it found; where
   it is, is its program counter.  `agreed` is what was decided first: it follows from the rest of the state, so it adds
   no states.  One state is Spin's own, the one before the estimates are chosen.

   spin -a -DN=5 cas_consensus.pml && cc -O2 -DSAFETY -DCOLLAPSE -DNOREDUCE -o pan pan.c && ./pan */
#ifndef N
#define N 5
#endif
#define NONE 0

byte register_ = NONE;
byte agreed = NONE;

proctype Process(byte estimate) {
  byte found = NONE;
  /* swap */
  d_step {
    found = register_;
    if
    :: register_ == NONE -> register_ = estimate
    :: else
    fi
  };
  /* decide */
  d_step {
    if
    :: found != NONE -> estimate = found
    :: else
    fi;
    found = NONE;
    assert(agreed == NONE || agreed == estimate);
    agreed = estimate
  };
  /* leave */
  skip;
end:
  false
}

init {
  byte v, i;
  atomic {
    for (i : 1 .. N) {
      select(v : 1 .. N);
      run Process(v)
    };
    v = 0; i = 0
  }
}
