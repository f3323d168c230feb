// Methods of Buffer that its published types leave out. They skip the check of an encoding's name,
// a fifth of the cost of a short write.

interface Buffer {
  latin1Slice(start?: number, end?: number): string
  utf8Slice(start?: number, end?: number): string
  base64urlSlice(start?: number, end?: number): string
  latin1Write(text: string, offset: number): number
  utf8Write(text: string, offset: number): number
}
