// Prints what independent readers make of the files of a result, as one JSON object: reader -> file -> rows.
// usage: node read.mjs FOLDER table.parquet curve.parquet trials.arrow ...
import fs from 'node:fs'
import { DuckDBInstance } from '@duckdb/node-api'
import { parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { tableFromIPC } from 'apache-arrow'
import { readParquet } from 'parquet-wasm/node'

const [folder, ...names] = process.argv.slice(2)
const engine = await (await DuckDBInstance.create()).connect()
const rowsOf = (table) => table.toArray().map((row) => row.toJSON())

const readers = {
  duckdb: async (path) => (await engine.runAndReadAll(`from '${path}'`)).getRowObjects(),
  hyparquet: async (path) => {
    const raw = fs.readFileSync(path)
    return parquetReadObjects({ file: raw.buffer.slice(raw.byteOffset, raw.byteOffset + raw.length), compressors })
  },
  'parquet-wasm': async (path) => rowsOf(tableFromIPC(readParquet(fs.readFileSync(path)).intoIPCStream())),
}

const out = { 'apache-arrow': {} }
for (const name of names) {
  const path = `${folder}/${name}`
  if (name.endsWith('.arrow')) {
    out['apache-arrow'][name] = rowsOf(tableFromIPC(fs.readFileSync(path)))
    continue
  }
  for (const [reader, read] of Object.entries(readers)) {
    out[reader] ??= {}
    out[reader][name] = await read(path)
  }
}
process.stdout.write(JSON.stringify(out, (_, v) => (typeof v === 'bigint' ? Number(v) : v)))
