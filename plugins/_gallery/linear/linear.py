#!/usr/bin/env python3
from sklearn.linear_model import LogisticRegression

from shatter import Constant, Halfspace, algorithm, serve


@algorithm("gallery/linear", version="1.0.0")
class Linear:
    "Logistic regression of scikit-learn; not private."

    def declares(self, s):
        return s.problem.class_ == "halfspace"

    def learn(self, trial, x, y):
        if (y == y[0]).all():  # scikit-learn requires both labels
            return Constant(y[0])
        clf = LogisticRegression(fit_intercept=False).fit(x, y)
        return Halfspace(clf.coef_, clf.intercept_)


if __name__ == "__main__":
    serve(Linear)
