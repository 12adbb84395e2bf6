"""What ``--help`` says of each command, below its usage."""

REPRODUCE = """
Runs the papers' figures and tables and writes, for each, its curves (CSV), pictures (PNG, SVG) and
all of its parameters (JSON), and one page about everything, report.html.

Without --data it runs on generated data and, where they fit, on sets that scikit-learn brings along
(diabetes, breast cancer, digits). With --data it reads real sets: a folder with mq2008/, ml-1m/,
20newsgroups/, reuters21578/, amazon_reviews/, tabular/, stocks/. A run that was interrupted goes on
where it stopped when the same command is given again. Results depend on --scale, --data and --seed
only, never on --jobs or --cluster.

examples:
  coactive-fast reproduce
  coactive-fast reproduce coactive-alpha onseg --jobs 2
  coactive-fast reproduce --scale paper --data ./data --out ./paper --jobs 4
"""

TRAIN = """
Trains a learner on a stream and prints how it does, each row being predicted before it is learned
from: the mean so far, the mean since the last line, rows a second, at doubling intervals. The
model is saved twice a minute and at the end.

  ranking     pdgd, pairwise-perceptron, dueling-bandit, preference-perceptron,
              exponentiated-preference-perceptron, convex-preference-perceptron,
              second-order-preference-perceptron:
              LETOR text (grades and qid:), answered by a simulated user; or (not the first three)
              a log of clicks, a line a query: {"query": id, "features": [[...], ...],
              "presented": [i, ...], "clicked": [i, ...]}, documents counted from 0; without
              features it goes by the query's documents in --documents FILE. Counted is the
              regret; or, of pairs of a clicked and an unclicked document that were shown, the
              share that the learner has the wrong way round. --held-out FILE adds the NDCG@10 of
              other queries.
  multiclass  confidit, banditron, newtron, multiclass-perceptron,
              multiclass-second-order-perceptron, multiclass-arow: svmlight text (label index:value
              ...) with whole labels or names (sport 3:0.5 ...). Counted are mistakes.
  filtering   simple-filter, ridge-filter, probabilistic-ridge-filter, perceptron-filter: svmlight
              text; relevant is what has a positive label, or --relevant LABEL where rows have
              many (1,7,9 index:value ...). Counted are wrong decisions.
  convex      onseg, ogdeg, ons, ogd, dikin-ftrl: svmlight text; labels -1 and 1 (or 0 and 1) mean
              the logistic loss, others the squared loss. Counted is the loss.

FILE may be packed (gzip, bzip2, xz), converted, or - for standard input. Ctrl-C (and SIGTERM) save
the model before they end; --from goes on with a saved one. --held-out FILE adds how the learner
does on rows that it does not learn from.

Features may have names (sport goal:2 ball); the first lines tell, or --names. Each name gets a
column, which the model's file keeps, or with --hash-bits B one of VW's 2^B. Text of Vowpal Wabbit
(label [weight] ['tag] |namespace name:value ...) is told by its |, or --format vw: rows for
multiclass learners, filters and losses, and for rankings a line a document, a blank line behind
each query. The model remembers names, labels and where they count from: choose, forward, rank and
--from go by it.

With --by KEY_COLUMN, online-ridge, linear-bandit and ridge-filter learn a model for each key, all
in one file (a fleet): of a table (CSV, Parquet, Arrow), of JSON objects a line, or of svmlight text
with --by qid. The target, reward or label stands in the column --label; the others are features, or
those of --columns. --from FILE goes on with such a file, in place.

With --text, multiclass learners and filters read plain text, a JSON object a line: {"text": "...",
"label": 3}, where a label is a number, true or false, a name, or a list of these. Words are hashed
to columns and weighted by TF-IDF, which counts the documents so far; how is kept in the model's
file, and choose, forward and --from go by it. This needs scikit-learn.

examples:
  coactive-fast train preference-perceptron queries.txt --user alpha:0.5 --passes 3
  coactive-fast train pdgd queries.txt --user clicks:navigational --k 10 --held-out test.txt
  coactive-fast train confidit news.svm.gz --shuffle --set eta=0.01 --model news.cf
  coactive-fast train ridge-filter articles.svm --relevant 36
  coactive-fast train ridge-filter docs.jsonl --text title,body --label topics --relevant grain
  coactive-fast train onseg abalone.svm --passes 150
  coactive-fast train confidit spam.vw --held-out later.vw --model spam.cf
  coactive-fast train online-ridge ratings.csv --by user --label rating --model users.fleet
  zcat clicks.gz | coactive-fast train preference-perceptron - --model clicks.cf
"""


ANSWERS = {
    "rank": """
Reads LETOR text, text of names or VW's, as the model was trained on, or a log of clicks (only its
documents count) and prints a line a query,
{"query": id, "ranking": [i, ...]}: its documents, counted from 0, best first, without chance.

  coactive-fast rank queries.cf queries.txt --k 10
""",
    "choose": """
Reads rows, as the model was trained on, and prints the guessed label of each; nothing is explored.
Labels in the text, none or many, count for nothing; with --score they are compared, and what is
printed is how many were guessed right.

  coactive-fast choose news.cf news.svm.gz
  coactive-fast choose news.cf later.svm.gz --score

A model that was trained on plain text reads plain text, a JSON object a line, and prints the names
of the classes, if they had any.
""",
    "forward": """
Reads svmlight text and prints, for each row, 1 where it is forwarded or 0, and its margin. Labels
in the text, none or many, count for nothing.

  coactive-fast forward filter.cf articles.svm

A model that was trained on plain text reads plain text, a JSON object a line.
"""}

EVALUATE = """
Says what policies would have earned in the rounds of a log of decisions: the value with its
standard error and 95 % interval, how many rounds of the policy itself would tell as much, and
bounds that hold at all times at once (rewards must lie in --reward-range for them).

LOG is dsjson or cb_adf text of Vowpal Wabbit's, or a table (CSV, Parquet, Arrow) with a row an
action, or with --action a row a round; packed or not, or - for standard input. A POLICY is a model
that `replay --model` or `save` wrote, or the word uniform.

A model of `replay --model` knows its columns, and the log is read by them: features that it has not
are left out. Another one fits the log whose columns it learned on: those of --hash-bits are always
the same, those by name depend on the log.

examples:
  coactive-fast evaluate log.json.gz --policy bandit.cf uniform --estimator snips
  coactive-fast evaluate log.csv --action arm --policy arms.cf --reward-range 0 10 --json
"""

REPLAY = """
Lets learners live through a log of decisions (see evaluate): each chooses round by round, and
learns where it chose what the log did and a coin says so, by which the rounds that count are
those it would have met. A LEARNER is linear-bandit, arm-bandit, confidit, banditron or newtron,
with parameters if wanted (linear-bandit:explore=ucb,width=2), or a saved model. All but the first
go by the context; how many arms or classes there are tells the log.

examples:
  coactive-fast replay log.json linear-bandit linear-bandit:explore=squarecb
  coactive-fast replay log.json linear-bandit --set context_features=7 --model bandit.cf
"""

LIST = """
Names every experiment with its paper, its figure or table, and its cost in seconds; then, for each,
the paper's own set and what stands in for it; then every set with its title, authors, year, the
address of its page, the files that are looked for below --data, and what reads them. A file may be
packed. None of the sets is part of this package: most may not be handed on.
"""

CONVERT = """
Puts svmlight or LETOR text into one file of arrays, which train, rank, choose and forward take in
the place of the text: it is mapped into memory, where text is parsed. Also a log of clicks that
names documents instead of repeating their features, for train.

  coactive-fast convert queries.txt.gz queries.cf
"""


FLEET = """
Tells how many models the file of a fleet (coactive_fast.Fleet) holds, how large it is, and whether
all records are whole; a writer may be at work meanwhile. With --key it shows the model of that key.

  coactive-fast fleet users.fleet
  coactive-fast fleet users.fleet --key 1729
"""
