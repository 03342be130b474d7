"""Best subsets beside the feature selectors of mlxtend and scikit-learn.

``python -m benchmarks.selectors`` finds the best subsets of all sizes up to some with
:func:`cardqp.all_subsets`, and has others choose from the same rows, on one thread.

* ``ExhaustiveFeatureSelector`` of mlxtend fits a linear regression to every subset and
  scores it by its R2 on the same rows, without cross-validation.
* ``SequentialFeatureSelector`` of scikit-learn adds the feature that helps most
  (forward), or drops the one that is missed least (backward), until the size is
  reached.  It scores by cross-validation, by default with five folds.  With one fold
  that trains and tests on all rows, it takes the step with the least sum of squares.

All are given ``LinearRegression`` and run without scikit-learn's checks of their input.
Sums of squares are computed here, by one routine, whoever chose.  The run ends with
an error if one is below what is proved to be the least, or if mlxtend's subsets have
others than ours, by more than 1e-10 of it.  Seconds are those of the processor, without
imports and compilation; on the tables, who chooses is stopped at the time limit.

Hitters is a table of the package ``ISLP``; those of UCI are included when the
environment variable ``CARDQP_DATA`` names their folder.  mlxtend is no dependency of
cardqp: ``pip install mlxtend``.  ``--publish docs/subsets/selectors.md`` writes the
tables between the marks of a page, and a picture beside it.
"""
