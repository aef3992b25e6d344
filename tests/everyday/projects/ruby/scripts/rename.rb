old, new = ARGV
Dir["{lib,test}/**/*.rb"].sort.each do |file|
  text = File.read(file)
  changed = text.gsub(/\b#{old}\b/, new)
  File.write(file, changed) unless changed == text
end
