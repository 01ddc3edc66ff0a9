// All commands, in the order of the help.

import type { CommandEntry } from '../command.ts'

// Modules are loaded on use: `verify` must not load the service it is meant to check.
export const commands: readonly CommandEntry[] = [
  {
    name: 'serve',
    summary: 'run the service',
    load: async () => (await import('./serve.ts')).serve,
  },
  {
    name: 'mcp',
    summary: 'memory as an MCP server for an AI client',
    load: async () => (await import('./mcp.ts')).mcp,
  },
  {
    name: 'demo',
    summary: 'a guided run: remember, decide, erase, prove',
    load: async () => (await import('./demo.ts')).demo,
  },
  {
    name: 'run',
    summary: 'start, follow, approve and prove runs of agents',
    load: async () => (await import('./run.ts')).run,
  },
  {
    name: 'verify',
    summary: 'check certificates, proofs and records offline',
    load: async () => (await import('./verify.ts')).verify,
  },
  {
    name: 'witness',
    summary: 'cosign checkpoints of logs that only ever grow',
    load: async () => (await import('./log/witness.ts')).witness,
  },
  {
    name: 'monitor',
    summary: 'follow an audit log and report a fork or a missing certificate',
    load: async () => (await import('./log/monitor.ts')).monitor,
  },
  {
    name: 'conformance',
    summary: 'test the capabilities a server declares and sign the result',
    load: async () => (await import('./conformance.ts')).conformance,
  },
  {
    name: 'fsck',
    summary: 'verify the audit log and every seal, read-only',
    load: async () => (await import('./fsck.ts')).fsck,
  },
  {
    name: 'cgr',
    summary: 'recompute reputation from the audit log, read-only',
    load: async () => (await import('./cgr.ts')).cgr,
  },
  {
    name: 'tenant',
    summary: 'create, list, meter and off-board tenants, rotate their keys',
    load: async () => (await import('./tenants/tenant.ts')).tenant,
  },
  {
    name: 'usage',
    summary: 'count what is billed again, from the audit log',
    load: async () => (await import('./tenants/usage.ts')).usage,
  },
  {
    name: 'subject',
    summary: 'find, erase or hand out everything about a person',
    load: async () => (await import('./rights/subject.ts')).subject,
  },
  {
    name: 'hold',
    summary: 'place, list and release legal holds on a store',
    load: async () => (await import('./rights/retention.ts')).hold,
  },
  {
    name: 'retention',
    summary: 'show or set how long a store keeps its memories, erase what is due',
    load: async () => (await import('./rights/retention.ts')).retention,
  },
  {
    name: 'report',
    summary: 'generate, list and download evidence reports',
    load: async () => (await import('./rights/report.ts')).report,
  },
  {
    name: 'export',
    summary: 'write a memory store to a file',
    load: async () => (await import('./export-import.ts')).exportStore,
  },
  {
    name: 'import',
    summary: 'read memories from a file into a store',
    load: async () => (await import('./export-import.ts')).importStore,
  },
  {
    name: 'backup',
    summary: 'copy the data and the keyring while the service runs',
    load: async () => (await import('./backup-restore.ts')).backup,
  },
  {
    name: 'restore',
    summary: 'restore a backup and apply later erasures again',
    load: async () => (await import('./backup-restore.ts')).restore,
  },
  {
    name: 'migrate',
    summary: 'create or update the schema on PostgreSQL',
    load: async () => (await import('./migrate.ts')).migrate,
  },
  {
    name: 'migrate-engine',
    summary: 'move a stopped data directory to PostgreSQL and prove it',
    load: async () => (await import('./migrate.ts')).migrateEngine,
  },
  {
    name: 'key',
    summary: 'list, rotate or retire signing keys; rotate the master key',
    load: async () => (await import('./key.ts')).key,
  },
]
