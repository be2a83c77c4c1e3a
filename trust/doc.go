// Package trust signs files and checks signatures, in the format of the tool minisign: who may load which module.
//
// The signature of model.so is in a file of its own, model.so.minisig. It is made with a secret key, and anybody who
// has the public key can check it. Each tool reads what the other writes: [minisign] checks signatures of this package,
// and this package checks signatures of minisign.
//
//	keys, err := trust.ReadKeys("release.pub")            // or a folder of such files
//	m, err := runtime.Load(ctx, "model.so", runtime.WithTrust(keys))
//
// A program that imports this package also obeys the environment variable TVMGO_TRUSTED_KEYS, which names such a file
// or folder: then every load of the process needs a signature. The command "tvmgo sign" makes keys and signatures; in
// Go, that is [Generate] and [SecretKey.Sign].
//
// # What a signature says
//
// That the owner of a key signed exactly these bytes. It says nothing about the name of the file: somebody who may
// write to the folder can put an older file with its older signature back, or one model in the place of another. The
// trusted comment has the name and the time of signing, as minisign writes them; [Signed] returns it to programs that
// want to compare it. To revoke a signature, stop trusting its key.
//
// The package imports no other public package of this module, and needs no cgo.
//
// [minisign]: https://jedisct1.github.io/minisign/
package trust
