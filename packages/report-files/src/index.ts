// The public interface without PDFs, which the entry `./printer` makes: reports, access letters and
// erasure proofs as HTML pages, and reports as OSCAL.

export { htmlReport } from './html/page.ts'
export { htmlDocument } from './html/plain-page.ts'
export { oscalReport } from './oscal/assessment-results.ts'
export { accessLetter, certificateDocument, manifestDocument } from './plain/plain-document.ts'
