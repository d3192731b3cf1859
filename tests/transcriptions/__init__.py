"""Agents written out once more in NumPy, loop by loop from their papers: the judges of the compiled ones.

Nothing here is shared with the library. A transcription plans (`plan` gives Q[h, s, a] and V[h, s]) and is shown the
same steps as the compiled agent (`observe`). Each knows a `fault`, one that was seen in public code or that is easy to
make: with it the transcription must disagree with the agent, or the comparison proves nothing.
"""
