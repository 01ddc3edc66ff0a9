// All commands, in the order the help shows them.

import type { CommandEntry } from '../command.ts'

// `verify` must work where no service is installed to trust: nothing else is loaded with it.
export const commands: readonly CommandEntry[] = [
  {
    name: 'serve',
    summary: 'run the service',
    load: async () => (await import('./serve.ts')).serve,
  },
  {
    name: 'demo',
    summary: 'a narrated run: remember, decide, erase, prove',
    load: async () => (await import('./demo.ts')).demo,
  },
  {
    name: 'verify',
    summary: 'check certificates, proofs and records offline',
    load: async () => (await import('./verify.ts')).verify,
  },
  {
    name: 'conformance',
    summary: 'test what a server declares, over HTTP, and sign the result',
    load: async () => (await import('./conformance.ts')).conformance,
  },
  {
    name: 'fsck',
    summary: 're-derive the log and open every seal, live and read-only',
    load: async () => (await import('./fsck.ts')).fsck,
  },
  {
    name: 'cgr',
    summary: 'recompute reputation from the log and compare it, live and read-only',
    load: async () => (await import('./cgr.ts')).cgr,
  },
  {
    name: 'tenant',
    summary: 'create, list, rotate the key, show the usage of tenants, or off-board one',
    load: async () => (await import('./tenant.ts')).tenant,
  },
  {
    name: 'export',
    summary: 'write a memory store to a file',
    load: async () => (await import('./export.ts')).exportStore,
  },
  {
    name: 'import',
    summary: 'read memories from a file into a store',
    load: async () => (await import('./import.ts')).importStore,
  },
  {
    name: 'backup',
    summary: 'copy data and keyring while the service runs',
    load: async () => (await import('./backup.ts')).backup,
  },
  {
    name: 'restore',
    summary: 'put a backup back and replay the erasures since',
    load: async () => (await import('./restore.ts')).restore,
  },
  {
    name: 'migrate',
    summary: 'make or update the schema on PostgreSQL',
    load: async () => (await import('./migrate.ts')).migrate,
  },
  {
    name: 'migrate-engine',
    summary: 'move a stopped data directory to PostgreSQL, with proof',
    load: async () => (await import('./migrate-engine.ts')).migrateEngine,
  },
  {
    name: 'key',
    summary: 'list, rotate or retire signing keys; rotate the master key',
    load: async () => (await import('./key.ts')).key,
  },
]
