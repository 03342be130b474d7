"""Best subset selection: the best subsets of features of every size."""
