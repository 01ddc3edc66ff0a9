// Makes PDFs in threads, one after another, for all slices that hand out files.

import { PdfPrinter, PrinterBusy, PrintingCancelled } from '@custos/report-files/printer'
import type { Call } from '../../platform/kernel/call.ts'
import { perKernel } from '../../platform/kernel/kernel.ts'
import { Refusal } from '../../platform/refusal.ts'

const printer = perKernel(() => new PdfPrinter())

/** Refuses `unavailable` when too many files wait. */
export async function printPdf(
  { kernel, tenant_id, gone }: Pick<Call, 'kernel' | 'tenant_id' | 'gone'>,
  source: Parameters<PdfPrinter['print']>[0]['source'],
): Promise<Uint8Array> {
  try {
    return await printer(kernel).print({ tenant_id, source, gone })
  } catch (error) {
    if (error instanceof PrinterBusy)
      throw new Refusal('unavailable', error.message, { retry_after_s: error.retry_after_s })
    if (error instanceof PrintingCancelled) throw new Refusal('unavailable')
    throw error
  }
}
