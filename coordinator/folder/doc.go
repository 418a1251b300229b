// Package folder keeps the output folder of a sweep: whose it is, its ledger and its manifest.
//
// It promises that a folder belongs to one sweep and one seed, that two processes never work in it
// at the same time, and that outcomes of a changed sweep file are kept only when the user asks for
// it. Claim takes a folder for a run; ReadRecord opens one without
// changing anything, Folder.WriteKnown shows what its ledger knows, and Folder.CheckTables checks its result.
package folder
