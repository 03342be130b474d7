# Best subsets of all sizes up to the last argument, by exhaustive search with leaps.
# Arguments: a file of doubles (X by columns, then y), rows, columns, largest size.
# Prints the seconds of the processor, and the residual sum of squares of that size.
arguments <- commandArgs(trailingOnly = TRUE)
n_rows <- as.integer(arguments[2])
n_columns <- as.integer(arguments[3])
size <- as.integer(arguments[4])
numbers <- readBin(arguments[1], "double", n_rows * (n_columns + 1))
table <- matrix(numbers, n_rows)
X <- table[, seq_len(n_columns)]
y <- table[, n_columns + 1]
time <- system.time(
  found <- leaps::regsubsets(
    X, y, nvmax = size, method = "exhaustive", really.big = TRUE
  )
)
# The first entry is for the intercept alone; dependent columns may add one at the end.
squares <- found$ress[size + 1, 1]
cat(sum(time[c("user.self", "sys.self")]), format(squares, digits = 15), "\n")
