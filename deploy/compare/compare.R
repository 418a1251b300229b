# The side "R" of compare.py: thresholds, one trial at a time, spread over the cores by package parallel.
#
#   Rscript compare.R DOMAIN DISTRIBUTION MASS N ALPHA SLACK EPSILON TRIALS ALGORITHM,... JOBS SEED
#
# It prints for each algorithm how many errors are at most alpha less the slack, alpha, and alpha plus the slack, and
# the sums of the errors and of their squares.
library(parallel)

args <- commandArgs(trailingOnly = TRUE)
number <- suppressWarnings(as.numeric(args))
domain <- number[1]; distribution <- args[2]; mass <- number[3]; n <- number[4]; alpha <- number[5]; slack <- number[6]
epsilon <- number[7]; trials <- number[8]; algorithms <- strsplit(args[9], ",")[[1]]; jobs <- number[10]
goals <- alpha * (1 + c(-slack, 0, slack))
needle <- distribution == "needle"
last <- if (needle) domain - 2 else domain - 1  # the largest threshold, as compare.py has it

# Returns the index of one of the groups of hypotheses, of which each has count hypotheses with that many errors.
choose <- function(algorithm, errors, count) {
  if (algorithm == "pf") {  # the largest -epsilon errors/2 + exponential noise; the maximum of count of these at once
    noise <- -log(-expm1(log(1 - runif(length(errors))) / count))
    return(which.max(ifelse(count > 0, noise - epsilon / 2 * errors, -Inf)))
  }
  sums <- cumsum(count * if (algorithm == "erm") errors == 0 else exp(-epsilon / 2 * errors))
  sum(sums <= runif(1) * sums[length(sums)]) + 1
}

# Returns the error of one trial.
trial <- function(algorithm) {
  target <- if (needle) domain %/% 2 else floor(runif(1) * (last + 1))
  x <- if (needle) c(target - 1, target, last)[findInterval(runif(n), c(mass, 2 * mass)) + 1]
       else floor(runif(n) * domain)
  x <- sort(x)
  positive <- x >= target
  ends <- c(-1, x, last)  # the thresholds of a group lie above one end and go up to the next
  errors <- c(0, cumsum(ifelse(positive, 1, -1))) + n - sum(positive)
  count <- diff(ends)
  i <- choose(algorithm, errors, count)
  h <- ends[i] + 1 + floor(runif(1) * count[i])
  if (needle) (h != target) * mass else abs(h - target) / domain
}

RNGkind("L'Ecuyer-CMRG")
set.seed(number[11])
for (algorithm in algorithms) {
  parts <- mclapply(seq_len(jobs), function(part) {
    size <- trials %/% jobs + (part <= trials %% jobs)
    vapply(seq_len(size), function(i) trial(algorithm), 0)
  }, mc.cores = jobs)
  errors <- unlist(parts)
  stopifnot(length(errors) == trials)
  cat(algorithm, sapply(goals, function(goal) sum(errors <= goal)),
      format(c(sum(errors), sum(errors^2)), digits = 17), "\n")
}
