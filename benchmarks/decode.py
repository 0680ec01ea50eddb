"""How long the parser's network takes, and how that grows with the number of EDUs.

Five tables: decoding one document, decoding a batch in lockstep against one by one, a training
step, degenerate trees, and minimum-risk against greedy decoding. Token vectors and weights are
random, which makes no difference to the time but for the shape of the trees: "natural" trees are
what the random weights choose, "balanced" ones and chains are forced by cutting every span at one
place (after all scores were computed). The best of several runs is shown; with one thread it is
CPU time, which other work on the machine disturbs less than the clock.

    OMP_NUM_THREADS=1 python benchmarks/decode.py --edus 10 50 200 1000 5000

The variable also keeps NumPy's BLAS, in which the pointer decodes, to one thread; --threads alone
is about torch.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from spacy_rst.parser.net import EduBatch, GoldSplits, ParsedTree, RstNet
from spacy_rst.parser.spans import EncodedEdus, prefix_sums
from spacy_rst.parser.splitters import PointerSplitter, SpanSplitter

# Rough times of comparable parsers for so many EDUs. This script takes them as given: it does not
# run those parsers, so read the ratio as an order of magnitude.
PEER_MS = {200: 2_000.0, 1000: 10_000.0}
TOKENS_PER_EDU = 4


def make_net(args: argparse.Namespace, splitter: str, balanced: bool) -> RstNet:
    torch.manual_seed(0)
    net = RstNet(
        token_width=args.token_width,
        n_labels=args.labels,
        hidden_width=args.hidden_width,
        encoder_layers=2,
        classifier_width=args.classifier_width,
        make_splitter={"pointer": PointerSplitter, "span": SpanSplitter}[splitter],
    ).eval()
    if balanced:
        force_splits(net, 0.5)
    return net


def force_splits(net: RstNet, place: float) -> None:
    """Split every span at the same place, 0 for its first candidate and 0.5 for that in its middle,
    at the full cost of choosing."""
    choose = net.splitter.pick

    def pick_one(scores: np.ndarray) -> tuple[int, float]:
        _, prob = choose(scores)
        return int(place * len(scores)), prob

    def pick_flat(
        log_probs: torch.Tensor, spans: torch.Tensor, first: torch.Tensor
    ) -> torch.Tensor:
        choose(log_probs, spans, first)
        return first + (place * spans.bincount()).long()

    net.splitter.pick = pick_one if isinstance(net.splitter, PointerSplitter) else pick_flat


def make_batch(args: argparse.Namespace, edu_counts: list[int]) -> EduBatch:
    n_edus = sum(edu_counts)
    starts = torch.arange(n_edus) * TOKENS_PER_EDU
    tokens = torch.randn(n_edus * TOKENS_PER_EDU, args.token_width)
    return EduBatch(tokens, starts, starts + TOKENS_PER_EDU, edu_counts)


def make_gold(edu_counts: list[int], n_labels: int) -> list[GoldSplits]:
    rng = random.Random(0)
    trees = []
    for count in edu_counts:
        splits, stack = [], [(0, count)]
        while stack:
            start, end = stack.pop()
            if end - start > 1:
                # Uneven, but not a chain, as in treebanks.
                split = start + min(
                    end - start - 1, max(1, round((end - start) * rng.random() / 2))
                )
                splits.append((start, split, end))
                stack += [(split, end), (start, split)]
        labels = [rng.randrange(n_labels) for _ in splits]
        trees.append(GoldSplits(torch.tensor(splits), torch.tensor(labels)))
    return trees


def best_ms(run: Callable[[], object], repeats: int) -> float:
    clock = time.process_time if torch.get_num_threads() == 1 else time.perf_counter
    times = []
    for _ in range(repeats):
        began = clock()
        run()
        times.append(clock() - began)
    return 1000 * min(times)


def depth(tree: ParsedTree) -> int:
    depths = {(0, len(tree.splits) + 1): 1}
    for start, split, end in tree.splits.tolist():
        depths[start, split] = depths[split, end] = depths[start, end] + 1
    return max(depths.values())


def growth(times: dict[int, float], n_edus: int) -> str:
    """How much ten times the EDUs multiply the time, judged from the size before this one."""
    smaller = [n for n in times if n < n_edus]
    if not smaller:
        return "-"
    before = max(smaller)
    return f"{(times[n_edus] / times[before]) ** (1 / math.log10(n_edus / before)):.1f}x"


def print_row(*cells: object) -> None:
    print("".join(f"{cell if isinstance(cell, str) else f'{cell:.1f}':>11}" for cell in cells))


def repeats_for(args: argparse.Namespace, n_edus: int) -> int:
    return args.repeats if n_edus <= 1000 else 1


@torch.no_grad()
def report_decoding(args: argparse.Namespace) -> None:
    print("\nOne document (ms). decode = split + label; growth: of decode, per 10 times the EDUs")
    print_row("splitter", "trees", "EDUs", "depth", "encode", "split", "label", "decode", "growth",
              "peers/ours")  # fmt: skip
    for splitter in args.splitters:
        for shape in ("balanced", "natural"):
            net = make_net(args, splitter, shape == "balanced")
            decode_times: dict[int, float] = {}
            for n_edus in sorted(args.edus):
                repeats = repeats_for(args, n_edus)
                batch = make_batch(args, [n_edus])
                encoded = net.encode(batch)
                (tree,) = net.decode(encoded)
                decode_times[n_edus] = best_ms(partial(net.decode, encoded), repeats)
                peers = PEER_MS.get(n_edus)
                print_row(
                    splitter,
                    shape,
                    str(n_edus),
                    str(depth(tree)),
                    best_ms(partial(net.encode, batch), repeats),
                    best_ms(partial(net.splitter.decode, encoded), repeats),
                    best_ms(
                        partial(net.classifier, encoded, torch.from_numpy(tree.splits)), repeats
                    ),
                    decode_times[n_edus],
                    growth(decode_times, n_edus),
                    f"{peers / decode_times[n_edus]:.0f}x" if peers else "-",
                )


def one_by_one(run: Callable[[EncodedEdus], object], documents: list[EncodedEdus]) -> None:
    for document in documents:
        run(document)


@torch.no_grad()
def report_lockstep(args: argparse.Namespace) -> None:
    print(f"\n{args.batch_size} documents (ms of splitting, and of the whole of decoding)")
    print_row("splitter", "EDUs each", "split 1by1", "split batch", "gain", "all 1by1", "all batch",
              "gain")  # fmt: skip
    for splitter in args.splitters:
        net = make_net(args, splitter, balanced=False)
        for n_edus in args.batch_edus:
            batch = make_batch(args, [n_edus] * args.batch_size)
            together = net.encode(batch)
            alone = [net.encode(make_batch(args, [n_edus])) for _ in range(args.batch_size)]
            cells: list[float | str] = []
            for run in (net.splitter.decode, net.decode):
                single = best_ms(partial(one_by_one, run, alone), args.repeats)
                batched = best_ms(partial(run, together), args.repeats)
                cells += [single, batched, f"{single / batched:.1f}x"]
            print_row(splitter, str(n_edus), *cells)


def training_step(net: RstNet, batch: EduBatch, gold: list[GoldSplits]) -> None:
    net.zero_grad()
    split_loss, label_loss = net.loss(net.encode(batch), gold)
    (split_loss + label_loss).backward()


def report_training(args: argparse.Namespace) -> None:
    print("\nTraining step of 3 documents: forward and backward (ms)")
    print_row("splitter", "EDUs each", "step", "growth")
    for splitter in args.splitters:
        net = make_net(args, splitter, balanced=False).train()
        times: dict[int, float] = {}
        for n_edus in sorted(args.train_edus):
            counts = [n_edus] * 3
            batch, gold = make_batch(args, counts), make_gold(counts, args.labels)
            step = partial(training_step, net, batch, gold)
            step()
            times[n_edus] = best_ms(step, args.repeats)
            print_row(splitter, str(n_edus), times[n_edus], growth(times, n_edus))


@torch.no_grad()
def report_degenerate(args: argparse.Namespace) -> None:
    print("\nSplitting texts that repeat one EDU, and chains (ms)")
    print_row("splitter", "EDUs", "repeated", "growth", "depth", "chain", "growth")
    for splitter in args.splitters:
        repeated_times: dict[int, float] = {}
        chain_times: dict[int, float] = {}
        for n_edus in sorted(args.chain_edus):
            net = make_net(args, splitter, balanced=False)
            encoded = net.encode(make_batch(args, [n_edus]))
            edus = encoded.edus[:1].expand(n_edus, -1).contiguous()
            repeated = EncodedEdus(edus, prefix_sums(edus), encoded.state, [n_edus])
            (tree,) = net.decode(repeated)
            repeated_times[n_edus] = best_ms(partial(net.splitter.decode, repeated), 1)
            force_splits(net, 0.0)
            chain_times[n_edus] = best_ms(partial(net.splitter.decode, encoded), 1)
            print_row(
                splitter,
                str(n_edus),
                repeated_times[n_edus],
                growth(repeated_times, n_edus),
                str(depth(tree)),
                chain_times[n_edus],
                growth(chain_times, n_edus),
            )


@torch.no_grad()
def report_search(args: argparse.Namespace) -> None:
    print("\nMinimum-risk decoding (ms of the whole of decoding)")
    print_row("EDUs", "greedy", "search", "growth")
    net = make_net(args, "span", balanced=False)
    times: dict[int, float] = {}
    for n_edus in sorted(args.search_edus):
        encoded = net.encode(make_batch(args, [n_edus]))
        greedy = best_ms(partial(net.decode, encoded), args.repeats)
        net.splitter.search_edus = n_edus
        times[n_edus] = best_ms(partial(net.decode, encoded), 1)
        net.splitter.search_edus = 0
        print_row(str(n_edus), greedy, times[n_edus], growth(times, n_edus))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--edus", type=int, nargs="+", default=[10, 50, 200, 1000, 5000])
    parser.add_argument("--splitters", nargs="+", default=["pointer", "span"])
    parser.add_argument("--batch-edus", type=int, nargs="+", default=[50, 200])
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--train-edus", type=int, nargs="+", default=[10, 50, 200])
    parser.add_argument("--chain-edus", type=int, nargs="+", default=[1000, 3000])
    parser.add_argument("--search-edus", type=int, nargs="+", default=[20, 50, 100, 200])
    parser.add_argument("--token-width", type=int, default=768)
    parser.add_argument("--hidden-width", type=int, default=768)
    parser.add_argument("--classifier-width", type=int, default=768)
    parser.add_argument("--labels", type=int, default=42, help="number of joint labels")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    print(
        f"token width {args.token_width}, hidden width {args.hidden_width}, classifier width "
        f"{args.classifier_width}, {args.labels} labels, {args.threads} thread(s)"
    )
    report_decoding(args)
    report_lockstep(args)
    report_training(args)
    report_degenerate(args)
    report_search(args)


if __name__ == "__main__":
    main()
