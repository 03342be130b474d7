# Best subsets of all sizes up to a largest one, by exhaustive search with leaps.
# Arguments: a file of doubles (X by columns, then y), rows, columns, largest size, and
# how many subsets of each size.
# Prints the seconds of the processor, and a line of residual sums of squares per size.
arguments <- commandArgs(trailingOnly = TRUE)
n_rows <- as.integer(arguments[2])
n_columns <- as.integer(arguments[3])
size <- as.integer(arguments[4])
n_best <- as.integer(arguments[5])
numbers <- readBin(arguments[1], "double", n_rows * (n_columns + 1))
table <- matrix(numbers, n_rows)
X <- table[, seq_len(n_columns)]
y <- table[, n_columns + 1]
time <- system.time(
  found <- leaps::regsubsets(
    X, y, nvmax = size, nbest = n_best, method = "exhaustive", really.big = TRUE
  )
)
cat("seconds", sum(time[c("user.self", "sys.self")]), "\n")
# The first row is for the intercept alone; dependent columns may add one at the end.
for (k in seq_len(size)) {
  cat(format(found$ress[k + 1, seq_len(n_best)], digits = 15), "\n")
}
