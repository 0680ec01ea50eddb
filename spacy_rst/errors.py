"""Coded errors: every message names what is wrong and says what to do."""

from __future__ import annotations


class _MessagesWithCodes(type):
    """Prefix a message with its attribute name, so `Errors.R001` reads "[R001] ..."."""

    def __getattribute__(cls, code: str) -> str:
        message = super().__getattribute__(code)
        if code.startswith("__"):
            return message
        return f"[{code}] {message}"


class RstError(ValueError):
    """Raised for every problem that spacy_rst itself detects.

    The message starts with a code in brackets, which `code` gives alone.
    """

    @property
    def code(self) -> str:
        """RETURNS (str): The code of the message, e.g. "R001", or "" where it has none."""
        message = str(self)
        if message.startswith("["):
            return message[1:].split("]", 1)[0]
        return ""


class Errors(metaclass=_MessagesWithCodes):
    """Messages by code. R0: trees and Docs, R1: treebank files, R2: parser, R3: encoders,
    R4: segmenter, R5: command line and display, R6: translation, R7: scoring and experiments."""

    # Everywhere
    R090 = (
        "This needs {library}, which is not installed. Install it with: pip install "
        "'spacy_rst[{extra}]'."
    )
    R091 = (
        "The pipeline '{model}' cannot be loaded. Give a bundled one ({known}), the name of an "
        "installed package or a folder. {error}"
    )
    R134 = "{path} cannot be read or written ({error})."
    R300 = "{name} = {value!r} cannot be used here. It must be {wanted}."
    R522 = "{output} cannot be written to: {problem}. Name another place."
    R554 = "The pipeline '{model}' makes no {what} (its components: {pipes}). Please {advice}."

    # Trees and Docs
    R001 = "A tree needs at least one EDU. Leave the Doc without a tree if it has no text."
    R004 = (
        "The splits do not form one binary tree over all EDUs: {problem}. Give each span of "
        "several EDUs, from the whole document down, exactly one split."
    )
    R005 = (
        "This is not a tree that RstTree.to_dict() of this version wrote ({error}). It needs the "
        "keys 'edus' (a list of strings) and 'splits' (a list of [start, split, end, label])."
    )
    R009 = "{start}:{end} are not EDUs of this tree, which has {n_edus}."
    R011 = (
        "{value} is not a split. Give (start, split, end, label) with whole numbers "
        "0 <= start < split < end and a label such as 'Elaboration-NS'."
    )
    R012 = "{value} is not a list of {n_splits} pairs of probabilities (split, label) from 0 to 1."
    R013 = (
        "'{label}' is not a label such as 'Elaboration-NS', 'Background-SN' or 'Contrast-NN', nor "
        "one of the nuclearities 'NS', 'SN' and 'NN'."
    )
    R014 = "{value} is not an EDU. Give strings or spaCy Spans."
    R020 = (
        "The Doc has no EDUs. Add the component 'edu_segmenter' before this one, or set "
        "doc.spans['edus'] to the Spans of its units."
    )
    R021 = "The tree has {n_tree} EDUs, but {n_edus} are there. Set doc.spans['edus'] first."
    R022 = (
        "The EDUs {first!r} and {second!r} {problem}. EDUs must stand in text order, without "
        "overlap, and cover all tokens but white space."
    )
    R025 = "The EDU {edu!r} lies on another Doc. Take the Spans from the Doc that gets the tree."
    R026 = "EDU {number} is empty. Give every EDU some text."
    R027 = "The tree in doc.user_data['rst_tree'] is damaged ({error}). Set doc._.rst_tree anew."
    R028 = (
        "Tokens were merged or split after the EDUs were made, which no longer begin and end with "
        "tokens. Set doc.spans['edus'] anew, or merge tokens earlier in the pipeline."
    )
    R032 = (
        "The layout does not fit the text: {problem}. Give blocks of the kinds {kinds}, in text "
        "order and without overlap, that cover all text but white space."
    )

    # Treebank files
    R100 = "Line {line} of {path} gives a relation the class '{name}'. Use one of: {known}."
    R101 = (
        "The relation '{label}' in {source} has no class. Give it one in a table of your own "
        "(--relations FILE.tsv) with the columns treebank, label and class: {row}. Or keep the "
        "treebank's own labels (--labels original)."
    )
    R102 = "{source} is not well-formed XML ({error}). Save it again from rstWeb, as UTF-8."
    R103 = "{source} declares XML entities or refers to other files, which is unsafe. Remove them."
    R104 = "There is nothing to read in {source}: {problem}."
    R105 = "{node} of {source} {problem}. Correct it, or skip the document with --skip-bad."
    R108 = (
        "{source} holds several trees, {trees}. Join them in an editor, or keep the largest with "
        "--largest-tree (the other units are then counted as removed)."
    )
    R109 = "None of the {n_edus} EDUs of {source} is linked to another. Build the tree first."
    R114 = "{keys} in the user data of the Doc cannot be written as rs3 ({error}). Remove them."
    R120 = "Line {line} of {source} is not in the bracket format of RST-DT: {problem}."
    R130 = "{path} is not a table: {problem}. Give a TSV file in UTF-8 with the columns {columns}."
    R131 = "There is nothing at {path}. Give a file or a folder; 'rst convert' makes a corpus."
    R132 = "There is no file below {path} whose name ends with {suffixes}."
    R133 = "The format of {path} cannot be told from its name. Say it with --format ({suffixes})."
    R135 = "There is no tokenizer for '{lang}' ({error}). Install what it needs, or use --lang xx."
    R136 = "The splits lack the document {name} of '{treebank}'. Add it, or leave out --split."
    R137 = (
        "No table of splits was given. Give one with --splits FILE, or name one of the treebanks "
        "whose official splits are known with --treebank: {known}."
    )
    R139 = "None of the treebanks '{only}' is in {path}. Fetch them first: spacy project assets."
    R140 = "{source} and its files do not fit: {problem}. Take all of them from the same release."
    R143 = "Line {line} of {source} {problem}. Correct it, or skip the document with --skip-bad."

    # Parser: its training, its corpus
    R200 = (
        "None of the training documents has {wanted}, so '{name}' has nothing to learn from. "
        "Convert a treebank with 'python -m spacy rst convert', and store the user data where you "
        "write a DocBin yourself."
    )
    R201 = (
        "The text of the document {document} is not that of its gold annotation; they part at "
        "character {position}: {predicted!r} instead of {gold!r}. Make the Example from the gold "
        "text."
    )
    R202 = (
        "The gold EDU {edu!r} of the document {document} begins or ends inside a token. Read the "
        "corpus with spacy_rst.Corpus.v1, which keeps the gold tokens."
    )
    R203 = "The gold annotation of the document {document} cannot be used. {error}"
    R204 = (
        "The label '{label}' of the document {document} is not one of the parser's {n_labels}. A "
        "trained parser takes no new labels: initialize it anew, or map the label to a known one. "
        "Where the labels come from a file, make it again with 'python -m spacy init labels'."
    )
    R220 = "The corpus has no path. Set it in the config, or with --paths.train and --paths.dev."
    R223 = (
        "None of the {n_docs} documents in {path} fits what the corpus reader is asked for "
        "({filters}). There are the languages {languages} and the treebanks {treebanks}."
    )
    R226 = "No document in {paths} has a gold tree to compare with. Give a converted treebank."

    # Encoders
    R303 = (
        "The model '{name}' cannot be used here: {reason}. Choose XLM-RoBERTa or a model built "
        "like it (RoBERTa, CamemBERT, BERT, MPNet), with a fast tokenizer."
    )
    R307 = "The encoder has no weights. Call nlp.initialize(), or load a trained pipeline."
    R308 = (
        "The saved encoder does not fit the installed version of transformers (weights missing or "
        "left over: {names}). Install the version that the pipeline was trained with."
    )
    R309 = (
        "With int8 = true the encoder is for parsing with a trained pipeline: it cannot be "
        "initialized, trained or saved. Set int8 = false."
    )
    R310 = (
        "'{name}' gets no token vectors: it listens to a 'tok2vec' or 'transformer' component, but "
        "none has run before it. Add the one that it was trained with, such as "
        'nlp.add_pipe("tok2vec", source=...), first. To have trees in a pipeline of your own, '
        'nlp.add_pipe("rst") is all you need.'
    )
    R311 = (
        "'{name}' was trained on token vectors of width {width}, but those of the Doc have "
        "{found}: they come from another encoder. Add the 'tok2vec' that it was trained with, or "
        'nlp.add_pipe("rst") in its place, which brings its own.'
    )
    R331 = (
        "The piece encoder has no pretrained weights. Set `weights` to the folder that "
        "`spacy project run fetch-pieces` fills, or load a pipeline that has them."
    )
    R332 = "Weights in {folder} cannot be read: {error}. Run `spacy project run fetch-pieces`."

    # Syntax
    R340 = "'{listener}' cannot listen to '{name}'. Its encoder must be SyntaxListener.v1."

    # Segmenter
    R405 = (
        "The encoder of '{name}' has no width yet: it listens to a component that is not in the "
        "pipeline or comes later. Add a 'transformer' or 'tok2vec' component before it, or give it "
        "an encoder of its own in [components.{name}.model.tok2vec]."
    )
    R407 = (
        "{n_misaligned} of the {n_edus} gold EDUs begin inside a token; '{name}' will learn that "
        "token as their start. Read the corpus with spacy_rst.Corpus.v1, which keeps the gold "
        "tokens, or use a tokenizer that splits there."
    )
    R409 = "The Doc has no sentences to make EDUs of. Add a 'sentencizer' before '{name}'."

    # Display
    R540 = "There is nothing to draw in {place}. Give RstTrees, or Docs that 'rst_parser' parsed."
    R541 = "Cannot listen on port {port} of {host} ({error}). Give another, or 0 for a free one."
    R543 = "Everyone who can reach {host} can read these documents, only you with the default one."

    # Bundled pipelines
    R555 = (
        "The component was saved with version {version} of '{model}'; {installed} is installed, so "
        "trees may differ. Install the version that it was saved with, or save it again."
    )

    # Training
    R580 = (
        "Training cannot be resumed from {path} ({error}). A checkpoint is written with each "
        "evaluation. Leave out --resume to start a new training."
    )
    R581 = (
        "{path} belongs to another pipeline: {weights} differ. Give the config and the corpus that "
        "the training began with, or leave out --resume to start a new one."
    )
    R582 = "There is no config '{name}'. Give the path of a file, or one of: {known}."

    # Command line
    R501 = "{path} is not a DocBin that can be read ({error}). Give a .spacy file."
    R510 = "There is no document to parse. Name files or folders, or send text to standard input."
    R512 = "There is nothing to read at {place}: the names of {kind} end with {endings}."
    R513 = "This is not {encoding} ({error}). Save it as UTF-8, or use --encoding."
    R514 = (
        "This is not a document ({error}). Give a JSON object on each line, or a row of a Parquet "
        'file, with a string as its "text".'
    )
    R519 = "{path} has room for one tree as {format}. Give a folder (path/), or --format jsonl."
    R521 = "{option} does not work {place}: {advice}."
    R524 = (
        "{path} was not written by an earlier run, or is damaged ({error}). Delete it, and its "
        "documents will be parsed again, or name another place."
    )

    # Bulk parsing
    R565 = (
        "{place} holds parts of another run ({found}), so this one ({wanted}) cannot go on with "
        "them. Repeat that one, or choose another place."
    )
    R566 = "Another run is writing to {place}. Wait for its end, or choose another place."
    R568 = "Workers died whenever they parsed this document. Is there enough memory?"
    R569 = "Ray stopped or cannot be used ({error}). Please {advice}."

    # Translation
    R600 = (
        "The engine '{engine}' does not translate from '{source}' to '{target}'. It knows: {known}."
    )
    R601 = (
        "'{command}' cannot be run ({error}). Install Debian's package 'apertium' with a language "
        "pair such as 'apertium-eng-spa', or use another engine."
    )
    R602 = (
        "Apertium's mode '{mode}' did not translate the segment '{segment}'. {problem} Run the "
        "command again, or leave that segment out: other translations are in the cache."
    )
    R604 = (
        "The engine '{engine}' gave {problem}. It must give one string of whole characters for "
        "each segment, in the same order."
    )
    R607 = (
        "Line {number} of {path} translates '{text}' as '{second}', an earlier line as '{first}'. "
        "Keep one of them."
    )
    R608 = (
        "{n_missing} of {n_segments} segments are not in {path} for the pair '{source}' to "
        "'{target}'; the first is '{first}'. Add them, or set missing = \"keep\"."
    )
    R610 = "{path} cannot be used as a cache of translations: {error}. Give another file."
    R613 = (
        "The translation model '{model}' cannot be loaded. Give the name or folder of a Hugging "
        "Face sequence-to-sequence model. {error}"
    )
    R615 = (
        "The language of the document {document} is not known. Give it with --source or source, or "
        "set doc.user_data['rst_lang']."
    )
    R616 = (
        "The translation engine '{engine}' cannot be made. Give one of {known}, a registered name "
        "or a config file with a block [translator]. {error}"
    )
    R630 = (
        "The component '{name}' has no {part}. Name one in its config, [components.{name}], or set "
        "its attribute {part}."
    )

    # Agreement
    R740 = "'{first}...' and '{second}...' are different texts. Give two trees of one document."
    R741 = "Documents are matched by their names, and {problem}."
