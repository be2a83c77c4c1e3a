package main

import _ "tvmgo/trust" // TVMGO_TRUSTED_KEYS
