// Package folder manages the output folder of a sweep: its owner, its ledger and its manifest.
//
// A folder belongs to one sweep and one seed. Two processes never work in it at the same time.
// Outcomes of a changed sweep file are kept only if the user requests it. [Claim] claims a folder
// for a run; [ReadRecord] opens one without changing anything, [Folder.WriteKnown] shows the
// present state of its ledger, and [Folder.CheckTables] checks its result.
package folder
