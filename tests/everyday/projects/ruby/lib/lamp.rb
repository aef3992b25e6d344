# A lamp that is on or off.
class Lamp
  attr_reader :on

  def initialize
    @on = false
  end

  def press
    @on = !@on
  end
end
