// The worker thread that makes one PDF and exits.

import assert from 'node:assert/strict'
import { parentPort, workerData } from 'node:worker_threads'
import { pdfDocument, pdfReport } from './document.ts'

assert(parentPort, 'this file is run as a thread')
const file = await ('blocks' in workerData ? pdfDocument(workerData) : pdfReport(workerData))
parentPort.postMessage(file)
