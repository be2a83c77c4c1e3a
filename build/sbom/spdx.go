package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"time"

	"tvmgo/internal/version"
)

// The fields of SPDX 2.3 that are written (https://spdx.github.io/spdx-spec/v2.3).
type (
	spdxDocument struct {
		Version       string             `json:"spdxVersion"`
		DataLicense   string             `json:"dataLicense"`
		ID            string             `json:"SPDXID"`
		Name          string             `json:"name"`
		Namespace     string             `json:"documentNamespace"`
		Creation      spdxCreation       `json:"creationInfo"`
		Packages      []spdxPackage      `json:"packages"`
		Relationships []spdxRelationship `json:"relationships"`
	}
	spdxCreation struct {
		Created  string   `json:"created"`
		Creators []string `json:"creators"`
	}
	spdxPackage struct {
		Name          string    `json:"name"`
		ID            string    `json:"SPDXID"`
		Version       string    `json:"versionInfo,omitempty"`
		Location      string    `json:"downloadLocation"`
		FilesAnalyzed bool      `json:"filesAnalyzed"`
		Concluded     string    `json:"licenseConcluded"`
		Declared      string    `json:"licenseDeclared"`
		Copyright     string    `json:"copyrightText"`
		Comment       string    `json:"comment,omitempty"`
		References    []spdxRef `json:"externalRefs,omitempty"`
	}
	spdxRef struct {
		Category string `json:"referenceCategory"`
		Type     string `json:"referenceType"`
		Locator  string `json:"referenceLocator"`
	}
	spdxRelationship struct {
		From string `json:"spdxElementId"`
		Type string `json:"relationshipType"`
		To   string `json:"relatedSpdxElement"`
	}
)

const none = "NOASSERTION"

// notInID are the characters that an identifier of SPDX cannot have.
var notInID = regexp.MustCompile(`[^A-Za-z0-9.-]+`)

// document describes a package with what is linked into its binaries. The same contents give the same document.
func document(name string, created time.Time, own component, all []component) spdxDocument {
	root := spdxPackage{Name: own.name, ID: "SPDXRef-tvmgo", Version: version.Number(), Location: none,
		Concluded: "Apache-2.0", Declared: "Apache-2.0", Copyright: none}
	doc := spdxDocument{Version: "SPDX-2.3", DataLicense: "CC0-1.0", ID: "SPDXRef-DOCUMENT", Name: name,
		Creation: spdxCreation{created.UTC().Format(time.RFC3339), []string{"Tool: tvmgo-sbom-" + version.Number()}},
		Packages: []spdxPackage{root},
		Relationships: []spdxRelationship{
			{"SPDXRef-DOCUMENT", "DESCRIBES", root.ID},
		}}
	contents := sha256.New()
	for i, c := range all {
		p := c.spdx(i)
		fmt.Fprintln(contents, c.name, c.version, c.sum, c.licence)
		doc.Packages = append(doc.Packages, p)
		doc.Relationships = append(doc.Relationships, spdxRelationship{root.ID, "CONTAINS", p.ID})
	}
	doc.Namespace = "https://spdx.org/spdxdocs/" + name + "-" + hex.EncodeToString(contents.Sum(nil)[:16])
	return doc
}

func (c *component) spdx(i int) spdxPackage {
	p := spdxPackage{Name: c.name, ID: fmt.Sprintf("SPDXRef-%d-%s", i, notInID.ReplaceAllString(c.name, "-")),
		Version: c.version, Location: none, Concluded: c.licence, Declared: c.licence, Copyright: none}
	switch {
	case c.name == standardLibrary:
		p.References = []spdxRef{{"PACKAGE-MANAGER", "purl", "pkg:golang/std@" + c.version}}
	case c.sum != "":
		p.Location = "https://proxy.golang.org/" + escaped(c.name) + "/@v/" + escaped(c.version) + ".zip"
		p.References = []spdxRef{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + c.name + "@" + c.version}}
		p.Comment = "go.sum: " + c.sum // of the list of the module's files, not of its archive as SPDX's checksums are
	default:
		p.Comment = "C code, linked by the C compiler"
	}
	return p
}

// escaped writes a name as in the protocol of module proxies: capital letters in lower case after an exclamation mark.
func escaped(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r >= 'A' && r <= 'Z' {
			b.WriteByte('!')
			r += 'a' - 'A'
		}
		b.WriteRune(r)
	}
	return b.String()
}
