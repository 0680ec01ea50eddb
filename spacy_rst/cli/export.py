"""`python -m spacy rst export`: trees from one format to another."""

from __future__ import annotations

from typing import Annotated

from spacy.cli._util import Arg

from . import rst_app
from ._formats import TreeFormat, choose_format
from ._inputs import read_trees
from ._options import Format, LargestTree, TreesInput
from ._outputs import choose_output
from ._util import Counts, ParseCommand, clean_errors, progress


@rst_app.command("export", cls=ParseCommand)
def export_cli(
    input_path: TreesInput,
    output_path: Annotated[str, Arg(metavar="OUTPUT", help="Folder or file to write")],
    file_format: Format = None,
    largest_tree: LargestTree = False,
) -> None:
    """Write trees in another format.

    Without --format, the ending of OUTPUT tells the format; the default is rs3. What cannot be read
    is reported; the rest is written all the same. Exit codes: 0 if all went well, 2 if some trees
    could not be read, 1 if nothing could be done.

    \b
    Examples:
      python -m spacy rst export parsed.spacy trees/ --format rs3
      python -m spacy rst export article.rs3 article.dis
      python -m spacy rst export treebank/ relations.tsv
    """
    counts = Counts()
    with clean_errors("export"):
        chosen = choose_format(file_format, output_path, default=TreeFormat.rs3)
        output = choose_output(output_path, chosen)
        with output.open():
            trees = read_trees(input_path, largest_tree=largest_tree)
            for origin, tree in progress(trees, f"Writing {chosen.value}"):
                if isinstance(tree, Exception):
                    counts.fail("export", tree)
                    continue
                output.check_apart([origin.file.location])
                output.check_room(counts.written)
                output.write(origin, tree)
                counts.count(tree)
    counts.finish()
