//! Draws a map as an indexed PNG with one pixel per field, and flushes as ticks below the addresses.
//!
//! A PNG of four bits per pixel takes a third of the bytes of the shortest SVG paths for the same fields. Its colours
//! are for a light page; the style sheet inverts their lightness for a dark one.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mountmark_model::DeviceRecord;
use mountmark_model::device::{DeviceOperation, Field, ROWS};

/// Pixel rows between addresses and ticks, and of ticks.
const GAP: usize = 2;
const TICK: usize = 5;
const HEIGHT: usize = ROWS + GAP + TICK;

/// The palette: background; three strengths each of read, written and both; a flush. Reading is lighter than writing,
/// and both together are darkest, so that they also differ without colour. `style.css` has the same colours for the
/// legend.
const COLOURS: [[u8; 3]; 11] = [
    [255, 255, 255],
    [59, 148, 209],
    [59, 148, 209],
    [59, 148, 209],
    [163, 58, 0],
    [163, 58, 0],
    [163, 58, 0],
    [38, 16, 74],
    [38, 16, 74],
    [38, 16, 74],
    [70, 78, 86],
];
const OPACITY: [u8; 11] = [0, 150, 200, 255, 150, 200, 255, 170, 215, 255, 255];
const FLUSH: u8 = 10;

pub(crate) struct Picture {
    /// The PNG file in base64.
    pub data: String,
    /// The time span of its width.
    pub nanoseconds: u64,
}

/// Numbers of sectors at which a field gets the second and third strength: the same in all maps of a test.
pub(crate) struct Shades([u64; 2]);

impl Shades {
    /// Scaled to the fullest field of all maps.
    pub(crate) fn of<'a>(records: impl Iterator<Item = &'a DeviceRecord>) -> Shades {
        let fields = records.filter_map(|record| record.map.as_ref()).flat_map(|map| &map.fields);
        let most = fields.map(sectors).max().unwrap_or(0);
        Shades([most / 64, most / 8])
    }

    fn strength(&self, field: &Field) -> u8 {
        self.0.iter().map(|from| u8::from(sectors(field) > *from)).sum()
    }
}

fn sectors(field: &Field) -> u64 {
    u64::from(field.read) + u64::from(field.written)
}

/// Slices up to the record's end.
fn columns(record: &DeviceRecord) -> usize {
    let until_settled = record.settled.div_ceil(record.slice.max(1)) as usize;
    until_settled.clamp(record.slices.len(), mountmark_model::device::SLICES.max(record.slices.len())).max(1)
}

/// The time span of a record's map, in nanoseconds.
pub(crate) fn span(record: &DeviceRecord) -> u64 {
    columns(record) as u64 * record.slice
}

/// The picture; `None` if there is nothing to draw.
pub(crate) fn picture(record: &DeviceRecord, shades: &Shades) -> Option<Picture> {
    let map = record.map.as_ref()?;
    if map.fields.is_empty() {
        return None;
    }
    let width = columns(record);
    let mut pixels = vec![0u8; width * HEIGHT];
    for field in &map.fields {
        let kind = match (field.read > 0, field.written > 0) {
            (true, false) => 1,
            (false, _) => 4,
            (true, true) => 7,
        };
        let (column, row) = (field.column as usize, field.row as usize);
        if column < width && row < ROWS {
            // The first address is at the bottom.
            pixels[(ROWS - 1 - row) * width + column] = kind + shades.strength(field);
        }
    }
    thicken(&mut pixels, width);
    for (column, slice) in record.slices.iter().enumerate() {
        if slice.count(DeviceOperation::Flush) > 0 {
            (ROWS + GAP..HEIGHT).for_each(|row| pixels[row * width + column] = FLUSH);
        }
    }
    let data = STANDARD.encode(png(&pixels, width)?);
    Some(Picture { data, nanoseconds: width as u64 * record.slice })
}

/// Extends a field by a pixel upwards if that is empty: one line in a hundred is hard to see.
fn thicken(pixels: &mut [u8], width: usize) {
    for at in 0..(ROWS - 1) * width {
        if pixels[at] == 0 {
            pixels[at] = pixels[at + width];
        }
    }
}

/// Palette indices as a PNG of four bits per pixel.
fn png(pixels: &[u8], width: usize) -> Option<Vec<u8>> {
    let lines = pixels.chunks(width).flat_map(|line| line.chunks(2).map(|two| two[0] << 4 | two.get(1).unwrap_or(&0)));
    let packed: Vec<u8> = lines.collect();
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width as u32, HEIGHT as u32);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Four);
    encoder.set_palette(COLOURS.concat());
    encoder.set_trns(OPACITY.to_vec());
    encoder.set_compression(png::Compression::High);
    encoder.set_filter(png::Filter::NoFilter);
    // Writing to memory fails only for invalid sizes, and these are valid.
    encoder.write_header().and_then(|mut writer| writer.write_image_data(&packed)).ok()?;
    Some(file)
}

#[cfg(test)]
mod tests {
    use mountmark_model::device::{IoMap, Slice};

    use super::*;

    fn record() -> DeviceRecord {
        let field = |column, row, read, written| Field { column, row, read, written };
        let flushed = Slice { count: [0, 0, 0, 1], ..Slice::default() };
        DeviceRecord {
            settled: 40,
            slice: 10,
            slices: vec![Slice::default(), flushed],
            map: Some(IoMap {
                row_bytes: 512,
                fields: vec![field(0, 0, 1, 0), field(1, 95, 0, 900), field(2, 5, 5, 20)],
            }),
            ..DeviceRecord::default()
        }
    }

    #[test]
    fn a_picture_has_a_pixel_for_each_field() {
        let record = record();
        let picture = picture(&record, &Shades::of([&record].into_iter())).unwrap();
        assert_eq!((picture.nanoseconds, span(&record)), (40, 40));
        let file = STANDARD.decode(picture.data).unwrap();
        let mut reader = png::Decoder::new(std::io::Cursor::new(file)).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height, info.line_size), (4, HEIGHT as u32, 2));
        let at = |column: usize, row: usize| pixels[row * 2 + column / 2] >> (4 * (1 - column % 2)) & 15;
        assert_eq!((at(0, 95), at(1, 0), at(2, 90)), (1, 6, 8), "read weakly, written strongly, both");
        assert_eq!((at(0, 94), at(2, 89), at(2, 88)), (1, 8, 0), "a pixel more above");
        assert_eq!((at(1, HEIGHT - 1), at(0, HEIGHT - 1), at(3, 50)), (FLUSH, 0, 0));
    }

    #[test]
    fn nothing_is_drawn_of_nothing() {
        let empty = DeviceRecord { map: Some(IoMap::default()), ..DeviceRecord::default() };
        let shades = Shades::of([&empty].into_iter());
        assert!(picture(&empty, &shades).is_none());
        assert!(picture(&DeviceRecord::default(), &shades).is_none());
    }
}
