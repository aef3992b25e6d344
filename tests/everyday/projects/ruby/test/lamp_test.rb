require "minitest/autorun"
require "tmpdir"
require "lamp"

class LampTest < Minitest::Test
  def test_press
    lamp = Lamp.new
    lamp.press
    assert lamp.on
  end

  def test_temporary_folder
    Dir.mktmpdir { |folder| File.write(File.join(folder, "a"), "a") }
  end
end
