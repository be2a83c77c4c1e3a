"""Packs modules that versions of TVM have saved, and the examples of the newest, into one archive.

    python pack.py saved.zip v0.17=FOLDER v0.25=FOLDER v0.27=FOLDER

The folders are those that models.py has written. Each version is one text in the archive, as the modules have much in
common: a list of names and texts.
"""
import json
import os
import sys
import zipfile

archive, examples = zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED, compresslevel=9), {}
for version, folder in (a.split("=") for a in sys.argv[2:]):
    modules = {}
    for file in sorted(os.listdir(folder)):
        text = open(os.path.join(folder, file)).read()
        if file.endswith(".io.json"):
            examples[file[:-8]] = json.loads(text)
        else:
            modules[file[:-5]] = json.dumps(json.loads(text), separators=(",", ":"))
    archive.writestr(zipfile.ZipInfo(version + ".json"), json.dumps(modules), zipfile.ZIP_DEFLATED, 9)
archive.writestr(zipfile.ZipInfo("examples.json"), json.dumps(examples), zipfile.ZIP_DEFLATED, 9)
archive.close()
