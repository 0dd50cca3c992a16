"""`verify`: one question, one answer.  Which methods to run on a model, in what order, racing what, and when to stop.

Methods that look for violations and methods that look for proofs run side by side, in processes of their own.  A proof counts
once the independent checker has accepted its certificate, a violation once its run has been replayed; what is settled is not
asked again, and when all is settled everything stops.  Read `question`, `race`, then `portfolio`; `racing` has the processes.
"""

from quorate.strategy.claims import accepted, borrowed
from quorate.strategy.portfolio import methods_for
from quorate.strategy.question import Answer, Event, Finding, Lemma, Method, Proof, Question, Tell, Work, lively
from quorate.strategy.race import verify

__all__ = [
    "Answer",
    "Event",
    "Finding",
    "Lemma",
    "Method",
    "Proof",
    "Question",
    "Tell",
    "Work",
    "accepted",
    "borrowed",
    "lively",
    "methods_for",
    "verify",
]
